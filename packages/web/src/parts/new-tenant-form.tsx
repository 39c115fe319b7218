import { ActionForm } from './action-form.tsx';
import { TextField } from './fields.tsx';
import { useFields } from './use-fields.ts';

/** Creates a tenant. */
export function NewTenantForm({ onCreated }: { onCreated: (adminKey: string) => void }) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const { values, field } = useFields({ slug: '', name: '', budget: '', timezone: timeZone });
  const { budget, ...named } = values;
  return (
    <ActionForm
      label="Create"
      name="POST /internal/v1/owner/tenants"
      input={() => ({
        body: { ...named, ...(budget !== '' && { budget: { usd: budget, period: 'month' } }) },
      })}
      onDone={({ admin_key: key }) => onCreated(key)}
    >
      <TextField label="Slug" {...field('slug')} isRequired hint="Lower case, for URLs and logs" />
      <TextField label="Name" {...field('name')} isRequired />
      <TextField label="Time zone" {...field('timezone')} isRequired hint="For example Europe/Berlin" />
      <TextField
        label="Monthly budget in USD"
        {...field('budget')}
        isNumber="decimal"
        hint="Empty: no budget"
      />
    </ActionForm>
  );
}
