import type { User } from '@gatehouse/contract/users';
import { changesOf, textOrNull, trimmed } from '../format/changes.ts';
import { ActionForm } from './action-form.tsx';
import { LinesField, TextField } from './fields.tsx';
import { useFields } from './use-fields.ts';

interface UserDraft extends Record<'aliases' | 'emails' | 'groups', readonly string[]> {
  user_id: string;
  display_name: string;
}

const newUser: UserDraft = { user_id: '', display_name: '', aliases: [], emails: [], groups: [] };

/** Changes a user of the directory, or adds one. */
export function UserForm({ user, onDone }: { user?: User; onDone: () => void }) {
  const before = user === undefined ? newUser : draftOf(user);
  const { values, field } = useFields(before);
  return (
    <ActionForm
      label={user === undefined ? 'Add' : 'Save'}
      name="PUT /v1/users/{user_id}"
      input={() => ({
        params: { user_id: values.user_id },
        body: changesOf(bodyOf(before), bodyOf(values)),
      })}
      onDone={onDone}
    >
      {user === undefined ? (
        <TextField
          label="User ID"
          {...field('user_id')}
          isRequired
          maxLength={255}
          hint="As requests name the user. It never changes. One that is known gets what you write here."
        />
      ) : null}
      <TextField label="Display name" {...field('display_name')} />
      <LinesField
        label="Aliases"
        {...field('aliases')}
        hint="Further names of the user in requests, one per line"
      />
      <LinesField label="E-mail addresses" {...field('emails')} rows={2} hint="One per line" />
      <LinesField
        label="Groups"
        {...field('groups')}
        hint="Names, one per line. New ones are made. Those that logins gave stay."
      />
    </ActionForm>
  );
}

function draftOf({ user_id: id, display_name: name, aliases, emails, groups }: User): UserDraft {
  return { user_id: id, display_name: name ?? '', aliases, emails, groups };
}

function bodyOf({ display_name: name, aliases, emails, groups }: UserDraft) {
  return {
    display_name: textOrNull(name),
    ...{ aliases: trimmed(aliases), emails: trimmed(emails), groups: trimmed(groups) },
  };
}
