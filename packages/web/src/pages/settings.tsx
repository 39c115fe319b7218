import type { AdminTenantSettings, PatchOwnSettings } from '@gatehouse/contract/tenants';
import { useState } from 'preact/hooks';
import { useAnswer } from '../api/use-answer.ts';
import { ActionForm } from '../parts/action-form.tsx';
import { Choice, TextField } from '../parts/fields.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { useFields } from '../parts/use-fields.ts';

const onOff = { on: 'on', off: 'off' };

const contents = {
  off: 'nothing',
  previews: 'previews',
  full: 'full content',
};

const actingUsers = {
  any: 'any user, or none',
  required: 'any user',
  known: 'users of the directory',
};

const scimUserIds = {
  externalId: 'externalId',
  userName: 'userName',
};

/** The settings of the tenant for its admins. */
export function Settings() {
  const known = useAnswer('GET /v1/tenant/settings', {});
  return <KnownAnswer known={known}>{(settings) => <SettingsForm settings={settings} />}</KnownAnswer>;
}

/** The fields as text. */
type Draft = ReturnType<typeof draftOf>;

function draftOf({ user_keys: keys, previews, ...settings }: AdminTenantSettings) {
  const { timezone, content, acting_users: users, scim_user_id: scimUserId } = settings;
  return {
    timezone,
    content,
    chars: String(previews.max_chars),
    keys: keys.enabled ? 'on' : 'off',
    keysEach: String(keys.max),
    days: String(keys.max_days),
    users,
    scimUserId,
  };
}

/** The members changed by the person: others may have been changed elsewhere. */
function changesOf(before: Draft, draft: Draft): PatchOwnSettings {
  const isChanged = (name: keyof Draft): boolean => draft[name] !== before[name];
  const { timezone, content, chars, keys, keysEach, days, users, scimUserId } = draft;
  return {
    ...(isChanged('timezone') && { timezone }),
    ...(isChanged('content') && { content }),
    ...(isChanged('chars') && { previews: { max_chars: Number(chars) } }),
    ...(isChanged('users') && { acting_users: users }),
    ...(isChanged('scimUserId') && { scim_user_id: scimUserId }),
    user_keys: {
      ...(isChanged('keys') && { enabled: keys === 'on' }),
      ...(isChanged('keysEach') && { max: Number(keysEach) }),
      ...(isChanged('days') && { max_days: Number(days) }),
    },
  };
}

function SettingsForm({ settings }: { settings: AdminTenantSettings }) {
  const [stored, setStored] = useState(() => draftOf(settings));
  const { values, set, field } = useFields(stored);
  const [note, setNote] = useState('');
  const done = (settingsNow: AdminTenantSettings): void => {
    setStored(draftOf(settingsNow));
    set(draftOf(settingsNow));
    // All pages show times in the zone they were loaded with.
    if (settingsNow.timezone !== stored.timezone) location.reload();
    setNote('Saved.');
  };
  const input = () => {
    setNote('');
    return { body: changesOf(stored, values) };
  };
  return (
    <>
      <ActionForm label="Save" name="PATCH /v1/tenant/settings" input={input} onDone={done}>
        <TextField
          label="Time zone"
          {...field('timezone')}
          isRequired
          hint="For example Europe/Berlin, for days and times on pages. Budgets keep the time zone that your operator has set"
        />
        <Choice
          label="Stored text of runs"
          {...field('content')}
          options={contents}
          hint="Previews are the beginning of each prompt and response. Full content adds messages, tool calls and passages from memory of new runs, encrypted, for admins and the user of the run"
        />
        <TextField label="Preview length in characters" {...field('chars')} isRequired isNumber="whole" />
        <Choice label="Personal API keys" {...field('keys')} options={onOff} />
        <TextField label="Personal keys per user" {...field('keysEach')} isRequired isNumber="whole" />
        <TextField
          label="Max lifetime of a personal key, in days"
          {...field('days')}
          isRequired
          isNumber="whole"
        />
        <Choice
          label="Users of runs"
          {...field('users')}
          options={actingUsers}
          hint="Runs that this excludes are refused. With any user, a key without a bound user may name anyone"
        />
        <Choice
          label="User id of new users from SCIM"
          {...field('scimUserId')}
          options={scimUserIds}
          hint="The other one becomes an alias"
        />
      </ActionForm>
      <p role="status">{note}</p>
    </>
  );
}
