import { scopesOf, type Scope } from '@gatehouse/contract/scopes';
import { daysFromNow } from '../format/times.ts';
import { usePerson } from '../shell/session.tsx';
import { ActionForm } from './action-form.tsx';
import { Checks } from './checks.tsx';
import { Choice, TextField } from './fields.tsx';
import { useFields } from './use-fields.ts';

const lives = { '': 'never', '7': 'in 7 days', '30': 'in 30 days', '90': 'in 90 days', '365': 'in a year' };
const roles = { user: 'user', admin: 'admin' };

/** Creates a key with no more rights than the person has. */
export function NewKeyForm({ onCreated }: { onCreated: (key: string) => void }) {
  const person = usePerson();
  const { values, set, field } = useFields({
    ...{ name: '', role: 'user' as keyof typeof roles, user: person.user_id ?? '', life: '', budget: '' },
    left: [] as readonly Scope[],
  });
  const { name, role, user, life, budget, left } = values;
  const offered = scopesOf(role).filter((scope) => person.scopes.includes(scope));
  const chosen = offered.filter((scope) => !left.includes(scope));
  // Those of another role stay left out.
  const leaveAllBut = (remaining: readonly Scope[]): void =>
    set({
      left: [
        ...left.filter((scope) => !offered.includes(scope)),
        ...offered.filter((scope) => !remaining.includes(scope)),
      ],
    });
  const input = () => ({
    body: {
      ...{ name, role, scopes: chosen, user_id: user === '' ? null : user },
      ...(life !== '' && { expires_at: daysFromNow(Number(life)) }),
      ...(budget !== '' && { budget: { usd: budget, period: 'month' as const } }),
    },
  });
  return (
    <ActionForm label="Create" name="POST /v1/api-keys" input={input} onDone={({ key }) => onCreated(key)}>
      <TextField label="Name" {...field('name')} isRequired hint="The program or person that uses it" />
      {person.role === 'admin' ? <Choice label="Role" {...field('role')} options={roles} /> : null}
      <TextField
        label="User"
        {...field('user')}
        maxLength={255}
        hint="Binds the key to one person. Empty: the key may name a user with each request."
      />
      <Choice label="Expires" {...field('life')} options={lives} />
      <TextField label="Monthly budget in USD" {...field('budget')} hint="Empty: the budget of the tenant" />
      <Checks
        legend="Scopes"
        options={offered.map((scope) => [scope, scope])}
        value={chosen}
        onChange={leaveAllBut}
      />
    </ActionForm>
  );
}
