import { useNames } from '../api/use-names.ts';
import { daysFromNow } from '../format/times.ts';
import { ActionForm } from './action-form.tsx';
import { Choice, TextField } from './fields.tsx';
import { useFields } from './use-fields.ts';

const roles = { owner: 'owner', admin: 'admin of a tenant' };
const lives = { '': 'never', '7': 'in 7 days', '30': 'in 30 days', '90': 'in 90 days', '365': 'in a year' };

/** Creates a key of an owner, or of an admin of a tenant. */
export function NewOwnerKeyForm({ onCreated }: { onCreated: (key: string) => void }) {
  const tenants = { '': 'Choose a tenant', ...Object.fromEntries(useNames('tenant')) };
  const { values, field } = useFields({
    ...{ name: '', role: 'owner' as keyof typeof roles, tenant_id: '' },
    expires_at: '' as keyof typeof lives,
  });
  const { name, role, tenant_id, expires_at: life } = values;
  const input = () => ({
    body: {
      ...{ name, role },
      ...(role === 'admin' && { tenant_id }),
      ...(life !== '' && { expires_at: daysFromNow(Number(life)) }),
    },
  });
  return (
    <ActionForm
      label="Create"
      name="POST /internal/v1/owner/api-keys"
      input={input}
      onDone={({ key }) => onCreated(key)}
      isIncomplete={role === 'admin' && tenant_id === ''}
    >
      <TextField label="Name" {...field('name')} isRequired hint="The person or program that uses it" />
      <Choice label="Role" {...field('role')} options={roles} />
      {role === 'admin' ? <Choice label="Tenant" {...field('tenant_id')} options={tenants} /> : null}
      <Choice label="Expires" {...field('expires_at')} options={lives} />
    </ActionForm>
  );
}
