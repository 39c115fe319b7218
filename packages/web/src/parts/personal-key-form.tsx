import { grants, scopesOf, type Scope } from '@gatehouse/contract/scopes';
import { daysFromNow } from '../format/times.ts';
import { usePerson } from '../shell/session.tsx';
import { ActionForm } from './action-form.tsx';
import { Checks } from './checks.tsx';
import { Choice, TextField } from './fields.tsx';
import { useFields } from './use-fields.ts';

const lives = { '': 'at the latest date allowed', '1': 'tomorrow', '7': 'in 7 days', '30': 'in 30 days' };

/** Creates a key of the person's own. */
export function PersonalKeyForm({ onCreated }: { onCreated: (key: string) => void }) {
  const { scopes } = usePerson();
  const offered: readonly Scope[] = scopesOf('user').filter((scope) => grants(scopes, scope));
  const { values, field } = useFields({ name: '', life: '', scopes: offered });
  const input = () => {
    const { name, life } = values;
    const expires = daysFromNow(Number(life));
    return { body: { name, scopes: [...values.scopes], ...(life !== '' && { expires_at: expires }) } };
  };
  return (
    <ActionForm label="Create" name="POST /v1/me/api-keys" input={input} onDone={({ key }) => onCreated(key)}>
      <TextField label="Name" {...field('name')} isRequired hint="The program that uses it" />
      <Choice label="Expires" {...field('life')} options={lives} />
      <Checks legend="Scopes" options={offered.map((scope) => [scope, scope])} {...field('scopes')} />
    </ActionForm>
  );
}
