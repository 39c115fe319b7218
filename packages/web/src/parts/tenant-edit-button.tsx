import type { Tenant } from '@gatehouse/contract/tenants';
import { ActionForm } from './action-form.tsx';
import { Choice, LongTextField, TextField } from './fields.tsx';
import { FormButton } from './form-button.tsx';
import { changesOf, draftOf } from './tenant-limits.ts';
import { RateFields } from './rate-fields.tsx';
import { useFields } from './use-fields.ts';

const periods = { day: 'Day', month: 'Month' };

interface TenantEditProps {
  tenant: Tenant;
  onDone: () => void;
}

/** A button to change a tenant and its limits. */
export function TenantEditButton({ tenant, onDone }: TenantEditProps) {
  return (
    <FormButton label="Edit" subject={tenant.name} onDone={onDone}>
      {(done) => <TenantForm tenant={tenant} onDone={done} />}
    </FormButton>
  );
}

function TenantForm({ tenant, onDone }: TenantEditProps) {
  const { values, field } = useFields(() => draftOf(tenant));
  return (
    <ActionForm
      label="Save"
      name="PATCH /internal/v1/owner/tenants/{id}"
      input={() => ({ params: { id: tenant.id }, body: changesOf(draftOf(tenant), values) })}
      onDone={onDone}
    >
      <TextField label="Name" {...field('name')} isRequired />
      <TextField label="Slug" {...field('slug')} isRequired hint="Lower case, for URLs and logs" />
      <TextField label="Time zone" {...field('timezone')} isRequired hint="For example Europe/Berlin" />
      <TextField label="Retention in days" {...field('retention_days')} isRequired isNumber="whole" />
      <RateFields field={field} hint="Empty: no limit" />
      <TextField
        label="Budget in USD"
        {...field('usd')}
        param="budget"
        isNumber="decimal"
        hint="Empty: no budget"
      />
      <Choice label="Budget period" {...field('period')} options={periods} />
      <LongTextField
        label="Allowed models"
        rows={4}
        {...field('models')}
        param="allowed_models"
        hint="One per line; gpt-4* matches every model with this prefix. Empty: all models"
      />
    </ActionForm>
  );
}
