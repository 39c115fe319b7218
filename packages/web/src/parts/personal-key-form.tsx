import { scopesOf, type Scope } from '@gatehouse/contract/scopes';
import { useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { usePerson } from '../shell/session.tsx';
import { ActionForm } from './action-form.tsx';
import { Checks } from './checks.tsx';
import { Choice, TextField } from './fields.tsx';

const lives = { '': 'as late as the tenant allows', '1': 'tomorrow', '7': 'in 7 days', '30': 'in 30 days' };
const dayMs = 86_400_000;

/** Creates a key of the person's own. */
export function PersonalKeyForm({ onCreated }: { onCreated: (key: string) => void }) {
  const { scopes } = usePerson();
  const offered = scopesOf('user').filter((scope) => scopes.includes(scope));
  const [name, setName] = useState('');
  const [life, setLife] = useState('');
  const [chosen, setChosen] = useState<readonly Scope[]>(offered);
  const create = useAction('POST /v1/me/api-keys');
  const submit = async (): Promise<void> => {
    const expires = new Date(Date.now() + Number(life) * dayMs).toISOString();
    const body = { name, scopes: [...chosen], ...(life !== '' && { expires_at: expires }) };
    const made = await create.run({ body });
    if (made !== null) onCreated(made.key);
  };
  return (
    <ActionForm label="Create" action={create} submit={submit}>
      <TextField label="Name" value={name} onChange={setName} isRequired hint="The program that uses it" />
      <Choice label="Expires" value={life} onChange={setLife} options={lives} />
      <Checks
        legend="Scopes"
        options={offered.map((scope) => [scope, scope])}
        chosen={chosen}
        onChange={setChosen}
      />
    </ActionForm>
  );
}
