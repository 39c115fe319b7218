import type { Tenant } from '@gatehouse/contract/tenants';
import { useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { ActionForm } from './action-form.tsx';
import { Dialog } from './dialog.tsx';
import { Choice, LongTextField, TextField } from './fields.tsx';

const rates = {
  requests_per_minute: 'Requests a minute',
  tokens_per_minute: 'Tokens a minute',
  max_concurrent: 'Requests at once',
} as const;
type Rate = keyof typeof rates;
const periods = { day: 'a day', month: 'a month' };

interface TenantLimitsProps {
  tenant: Tenant;
  onDone: () => void;
}

/** A button that opens the limits of a tenant. */
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
  const [limits, setLimits] = useState<Record<Rate, string>>(() => ({
    requests_per_minute: textOf(tenant.limits.requests_per_minute),
    tokens_per_minute: textOf(tenant.limits.tokens_per_minute),
    max_concurrent: textOf(tenant.limits.max_concurrent),
  }));
  const [budget, setBudget] = useState(tenant.budget?.usd ?? '');
  const [period, setPeriod] = useState<string>(tenant.budget?.period ?? 'month');
  const [models, setModels] = useState(tenant.allowed_models?.join('\n') ?? '');
  const patch = useAction('PATCH /internal/v1/owner/tenants/{id}');
  const submit = async (): Promise<void> => {
    const saved = await patch.run({
      params: { id: tenant.id },
      body: {
        limits: {
          requests_per_minute: numberIn(limits.requests_per_minute),
          tokens_per_minute: numberIn(limits.tokens_per_minute),
          max_concurrent: numberIn(limits.max_concurrent),
        },
        budget: budget === '' ? null : { usd: budget, period: period === 'day' ? period : 'month' },
        allowed_models: models.trim() === '' ? null : models.trim().split(/\s*\n\s*/),
      },
    });
    if (saved !== null) onDone();
  };
  return (
    <ActionForm label="Save" action={patch} submit={submit}>
      {(Object.entries(rates) as [Rate, string][]).map(([name, label]) => (
        <TextField
          key={name}
          label={label}
          value={limits[name]}
          onChange={(value) => setLimits({ ...limits, [name]: value })}
          isWhole
          hint="Empty: no limit"
        />
      ))}
      <TextField label="Budget in USD" value={budget} onChange={setBudget} hint="Empty: none" />
      <Choice label="Budget for" value={period} onChange={setPeriod} options={periods} />
      <LongTextField
        label="Allowed models"
        rows={4}
        value={models}
        onChange={setModels}
        hint="One a line; gpt-4* stands for all that begin so. Empty: all of the catalogue"
      />
    </ActionForm>
  );
}

function textOf(limit: number | null | undefined): string {
  return limit === null || limit === undefined ? '' : String(limit);
}

function numberIn(digits: string): number | null {
  return digits === '' ? null : Number(digits);
}
