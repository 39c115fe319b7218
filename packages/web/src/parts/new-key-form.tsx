import { scopesOf, type Scope } from '@gatehouse/contract/scopes';
import { useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { usePerson } from '../shell/session.tsx';
import { ActionForm } from './action-form.tsx';
import { Checks } from './checks.tsx';
import { Choice, TextField } from './fields.tsx';

const lives = { '': 'never', '7': 'in 7 days', '30': 'in 30 days', '90': 'in 90 days', '365': 'in a year' };
const dayMs = 86_400_000;

/** Creates a key with no more rights than the person has. */
export function NewKeyForm({ onCreated }: { onCreated: (key: string) => void }) {
  const person = usePerson();
  const [name, setName] = useState('');
  const [role, setRole] = useState('user');
  const [user, setUser] = useState(person.user_id ?? '');
  const [life, setLife] = useState('');
  const [budget, setBudget] = useState('');
  const offered = scopesOf(role === 'admin' ? 'admin' : 'user').filter((scope) =>
    person.scopes.includes(scope),
  );
  const [left, setLeft] = useState<readonly Scope[]>([]);
  const chosen = offered.filter((scope) => !left.includes(scope));
  // Those of another role stay left out.
  const leaveAllBut = (remaining: readonly Scope[]): void =>
    setLeft([
      ...left.filter((scope) => !offered.includes(scope)),
      ...offered.filter((scope) => !remaining.includes(scope)),
    ]);
  const create = useAction('POST /v1/api-keys');
  const submit = async (): Promise<void> => {
    const made = await create.run({
      body: {
        name,
        role: role === 'admin' ? 'admin' : 'user',
        scopes: chosen,
        user_id: user === '' ? null : user,
        ...(life !== '' && { expires_at: new Date(Date.now() + Number(life) * dayMs).toISOString() }),
        ...(budget !== '' && { budget: { usd: budget, period: 'month' } }),
      },
    });
    if (made !== null) onCreated(made.key);
  };
  return (
    <ActionForm label="Create" action={create} submit={submit}>
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        isRequired
        hint="The program or person that uses it"
      />
      {person.role === 'admin' ? (
        <Choice label="Role" value={role} onChange={setRole} options={{ user: 'user', admin: 'admin' }} />
      ) : null}
      <TextField
        label="User"
        value={user}
        onChange={setUser}
        maxLength={255}
        hint="Binds the key to one person. Empty: the key may name a user with each request."
      />
      <Choice label="Expires" value={life} onChange={setLife} options={lives} />
      <TextField
        label="Budget a month in USD"
        value={budget}
        onChange={setBudget}
        hint="Empty: that of the tenant"
      />
      <Checks
        legend="Scopes"
        options={offered.map((scope) => [scope, scope])}
        chosen={chosen}
        onChange={leaveAllBut}
      />
    </ActionForm>
  );
}
