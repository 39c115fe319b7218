import type { Tenant } from '@gatehouse/contract/tenants';
import { useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { ActionForm } from './action-form.tsx';
import { Dialog } from './dialog.tsx';
import { Choice, LongTextField, TextField } from './fields.tsx';
import { changesOf, draftOf, rates, type Draft, type Rate } from './tenant-limits.ts';

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
  const [draft, setDraft] = useState(() => draftOf(tenant));
  const set = (change: Partial<Draft>): void => setDraft({ ...draft, ...change });
  const patch = useAction('PATCH /internal/v1/owner/tenants/{id}');
  const submit = async (): Promise<void> => {
    const body = changesOf(draftOf(tenant), draft);
    if ((await patch.run({ params: { id: tenant.id }, body })) !== null) onDone();
  };
  return (
    <ActionForm label="Save" action={patch} submit={submit}>
      {(Object.entries(rates) as [Rate, string][]).map(([name, label]) => (
        <TextField
          key={name}
          label={label}
          value={draft[name]}
          onChange={(value) => set({ [name]: value })}
          isWhole
          hint="Empty: no limit"
        />
      ))}
      <TextField
        label="Budget in USD"
        value={draft.usd}
        onChange={(usd) => set({ usd })}
        hint="Empty: none"
      />
      <Choice
        label="Budget for"
        value={draft.period}
        onChange={(period) => set({ period })}
        options={periods}
      />
      <LongTextField
        label="Allowed models"
        rows={4}
        value={draft.models}
        onChange={(models) => set({ models })}
        hint="One a line; gpt-4* stands for all that begin so. Empty: all of the catalogue"
      />
    </ActionForm>
  );
}
