import { useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { ActionForm } from './action-form.tsx';
import { TextField } from './fields.tsx';

/** Creates a tenant. */
export function NewTenantForm({ onCreated }: { onCreated: (adminKey: string) => void }) {
  const [slug, setSlug] = useState('');
  const [name, setName] = useState('');
  const [budget, setBudget] = useState('');
  const [timezone, setTimezone] = useState(Intl.DateTimeFormat().resolvedOptions().timeZone);
  const create = useAction('POST /internal/v1/owner/tenants');
  const submit = async (): Promise<void> => {
    const made = await create.run({
      body: {
        ...{ slug, name, timezone },
        ...(budget !== '' && { budget: { usd: budget, period: 'month' as const } }),
      },
    });
    if (made !== null) onCreated(made.admin_key);
  };
  return (
    <ActionForm label="Create" action={create} submit={submit}>
      <TextField
        label="Slug"
        value={slug}
        onChange={setSlug}
        isRequired
        hint="Lower case, for addresses and logs"
      />
      <TextField label="Name" value={name} onChange={setName} isRequired />
      <TextField
        label="Time zone"
        value={timezone}
        onChange={setTimezone}
        isRequired
        hint="For example Europe/Berlin"
      />
      <TextField label="Budget a month in USD" value={budget} onChange={setBudget} hint="Empty: none" />
    </ActionForm>
  );
}
