import type { Tenant } from '@gatehouse/contract/tenants';
import { useState } from 'preact/hooks';
import { ActionForm } from './action-form.tsx';
import { Dialog } from './dialog.tsx';
import { Choice, LongTextField, TextField } from './fields.tsx';
import { changesOf, draftOf, rates, type Rate } from './tenant-limits.ts';
import { useFields } from './use-fields.ts';

const periods = { day: 'Day', month: 'Month' };

interface TenantLimitsProps {
  tenant: Tenant;
  onDone: () => void;
}

/** A button to open the limits of a tenant. */
export function TenantLimitsButton(props: TenantLimitsProps) {
  const [isOpen, setOpen] = useState(false);
  const { name } = props.tenant;
  const done = (): void => {
    setOpen(false);
    props.onDone();
  };
  return (
    <>
      <button type="button" aria-label={`Limits of ${name}`} onClick={() => setOpen(true)}>
        Limits
      </button>
      {isOpen ? (
        <Dialog title={`Limits of ${name}`} onClose={() => setOpen(false)}>
          <TenantLimitsForm tenant={props.tenant} onDone={done} />
        </Dialog>
      ) : null}
    </>
  );
}

function TenantLimitsForm({ tenant, onDone }: TenantLimitsProps) {
  const { values, field } = useFields(() => draftOf(tenant));
  return (
    <ActionForm
      label="Save"
      name="PATCH /internal/v1/owner/tenants/{id}"
      input={() => ({ params: { id: tenant.id }, body: changesOf(draftOf(tenant), values) })}
      onDone={onDone}
    >
      {(Object.entries(rates) as [Rate, string][]).map(([name, label]) => (
        <TextField key={name} label={label} {...field(name)} isWhole hint="Empty: no limit" />
      ))}
      <TextField label="Budget in USD" {...field('usd')} hint="Empty: no budget" />
      <Choice label="Budget period" {...field('period')} options={periods} />
      <LongTextField
        label="Allowed models"
        rows={4}
        {...field('models')}
        hint="One per line; gpt-4* matches every model with this prefix. Empty: all models"
      />
    </ActionForm>
  );
}
