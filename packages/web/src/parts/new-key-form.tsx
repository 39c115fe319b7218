import type { ApiKey } from '@gatehouse/contract/keys';
import { mayGiveScope, possibleScopes, scopesOf, type Scope } from '@gatehouse/contract/scopes';
import { numberOrNull, textOrNull } from '../format/changes.ts';
import { daysFromNow } from '../format/times.ts';
import { usePerson } from '../shell/session.tsx';
import { ActionForm } from './action-form.tsx';
import { Checks } from './checks.tsx';
import { Choice, TextField } from './fields.tsx';
import { keyRights, newKeyRights, type KeyRights } from './key-draft.ts';
import { KeyRightsFields } from './key-form.tsx';
import { rates, type Rate } from './tenant-limits.ts';
import { RateFields } from './rate-fields.tsx';
import { useFields } from './use-fields.ts';

const lives = { '': 'never', '7': 'in 7 days', '30': 'in 30 days', '90': 'in 90 days', '365': 'in a year' };
const roles = { user: 'user', admin: 'admin' };
const periods = { month: 'month', day: 'day' };

interface NewKeyDraft extends Record<Rate, string>, KeyRights {
  name: string;
  role: keyof typeof roles;
  user_id: string;
  expires_at: keyof typeof lives;
  budget: string;
  period: keyof typeof periods;
  /** Scopes of the role, without those of the key. */
  left: readonly Scope[];
}

/** Creates a key with no more rights than the person has. */
export function NewKeyForm({ onCreated }: { onCreated: (key: string) => void }) {
  const person = usePerson();
  const { values, set, field } = useFields<NewKeyDraft>({
    ...{ name: '', role: 'user', user_id: person.user_id ?? '', expires_at: '', budget: '', period: 'month' },
    ...newKeyRights,
    ...{ requests_per_minute: '', tokens_per_minute: '', max_concurrent: '' },
    left: possibleScopes('admin').filter((scope) => !scopesOf('admin').includes(scope)),
  });
  const { role, left } = values;
  const offered = possibleScopes(role).filter((scope) => mayGiveScope(person.scopes, scope));
  const chosen = offered.filter((scope) => !left.includes(scope));
  // Those of another role stay left out.
  const leaveAllBut = (remaining: readonly Scope[]): void =>
    set({
      left: [
        ...left.filter((scope) => !offered.includes(scope)),
        ...offered.filter((scope) => !remaining.includes(scope)),
      ],
    });
  return (
    <ActionForm
      label="Create"
      name="POST /v1/api-keys"
      input={() => ({ body: bodyOf(values, chosen) })}
      onDone={({ key }) => onCreated(key)}
    >
      <TextField label="Name" {...field('name')} isRequired hint="The program or person that uses it" />
      {person.role === 'admin' ? <Choice label="Role" {...field('role')} options={roles} /> : null}
      <TextField
        label="User"
        {...field('user_id')}
        maxLength={255}
        hint="Binds the key to one person. Empty: the key may name a user with each request."
      />
      <Choice label="Expires" {...field('expires_at')} options={lives} />
      <TextField
        label="Budget in USD"
        {...field('budget')}
        isNumber="decimal"
        hint="Empty: the budget of the tenant"
      />
      <Choice label="Budget per" {...field('period')} options={periods} />
      <RateFields field={field} hint="Empty: the limit of the tenant" />
      <KeyRightsFields field={field} values={values} />
      <Checks
        legend="Scopes"
        options={offered.map((scope) => [scope, scope])}
        value={chosen}
        onChange={leaveAllBut}
        param="scopes"
      />
    </ActionForm>
  );
}

function bodyOf(draft: NewKeyDraft, scopes: Scope[]) {
  const { name, role, user_id, expires_at: life, budget, period } = draft;
  const limits: NonNullable<ApiKey['limits']> = {};
  for (const rate of Object.keys(rates) as Rate[]) {
    const limit = numberOrNull(draft[rate]);
    if (limit !== null) limits[rate] = limit;
  }
  return {
    ...{ name, role, scopes, user_id: textOrNull(user_id) },
    ...keyRights(draft),
    ...(life !== '' && { expires_at: daysFromNow(Number(life)) }),
    ...(budget !== '' && { budget: { usd: budget, period } }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}
