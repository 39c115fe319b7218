import type { ApiKey } from '@gatehouse/contract/keys';
import { mayGiveScope, possibleScopes } from '@gatehouse/contract/scopes';
import { usePerson } from '../shell/session.tsx';
import { ActionForm } from './action-form.tsx';
import { Checks } from './checks.tsx';
import { Choice, LinesField, TextField } from './fields.tsx';
import { keyChanges, keyDraft, reaches, type KeyRights } from './key-draft.ts';
import { useFields } from './use-fields.ts';

/** Changes the name and the rights of a key. */
export function KeyForm({ apiKey, onDone }: { apiKey: ApiKey; onDone: () => void }) {
  const person = usePerson();
  const before = keyDraft(apiKey);
  const { values, field } = useFields(() => before);
  const offered = possibleScopes(apiKey.role).filter(
    (scope) => mayGiveScope(person.scopes, scope) || apiKey.scopes.includes(scope),
  );
  return (
    <ActionForm
      label="Save"
      name="PATCH /v1/api-keys/{id}"
      input={() => ({ params: { id: apiKey.id }, body: keyChanges(before, values) })}
      onDone={onDone}
    >
      <TextField label="Name" {...field('name')} isRequired />
      <KeyRightsFields field={field} values={values} />
      <Checks legend="Scopes" options={offered.map((scope) => [scope, scope])} {...field('scopes')} />
    </ActionForm>
  );
}

interface KeyRightsFieldsProps {
  field: ReturnType<typeof useFields<KeyRights>>['field'];
  values: KeyRights;
}

/** The rights of programs with a key, beside its scopes. */
export function KeyRightsFields({ field, values }: KeyRightsFieldsProps) {
  return (
    <>
      <Choice label="Toolsets" {...field('reach')} options={reaches} />
      {values.reach === 'named' ? (
        <LinesField label="Names of toolsets" {...field('toolsets')} hint="One per line" />
      ) : null}
      <TextField
        label="Client settings"
        {...field('client_settings')}
        maxLength={64}
        hint="The name of the settings for its program. Empty: the default"
      />
    </>
  );
}
