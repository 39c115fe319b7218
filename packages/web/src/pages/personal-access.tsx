import type { PersonalKey, MemberSession } from '@gatehouse/contract/personal-keys';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { Creation } from '../parts/creation.tsx';
import { KeyButtons } from '../parts/key-buttons.tsx';
import { PersonalKeyForm } from '../parts/personal-key-form.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { NewKey } from '../parts/new-key.tsx';
import { Status } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { usePerson } from '../shell/session.tsx';

/** The keys made by a person or given to programs, and the browsers with a login of theirs. */
export function PersonalAccess() {
  return (
    <>
      {usePerson().user_id === null ? null : <PersonalKeys />}
      <ResourceList
        name="GET /v1/me/sessions"
        input={{}}
        parameter="sessions_cursor"
        caption="Your open sessions"
        columns={sessionColumns}
        keyOf={({ id }) => id}
        empty="No session is open."
      />
    </>
  );
}

function PersonalKeys() {
  return (
    <Creation
      label="Create a key"
      title="Create a personal key"
      createdTitle="Your new key"
      form={(onCreated) => <PersonalKeyForm onCreated={onCreated} />}
      showMade={(secret, close) => <NewKey secret={secret} close={close} />}
    >
      {(show, round) => (
        <ResourceList
          key={round}
          name="GET /v1/me/api-keys"
          input={{}}
          caption="Your keys"
          columns={(reload) => keyColumns(show, reload)}
          keyOf={({ id }) => id}
          empty="You have made no key, and given none to a program. A key of your own ends with your access."
        />
      )}
    </Creation>
  );
}

function keyColumns(show: (key: string) => void, reload: () => void): Column<PersonalKey>[] {
  return [
    { header: 'Name', cell: ({ name }) => name },
    { header: 'Prefix', cell: ({ prefix }) => <code>{prefix}</code> },
    { header: 'Type', cell: ({ program }) => (program ? 'device login' : 'personal') },
    { header: 'Status', cell: ({ status }) => <Status state={status} /> },
    { header: 'Last used', cell: ({ last_used_at: at }) => <Time at={at} otherwise="never" /> },
    { header: 'Expires', cell: ({ expires_at: at }) => <Time at={at} otherwise="never" /> },
    {
      header: 'Actions',
      cell: (key) => (
        <KeyButtons
          apiKey={key}
          path="/v1/me/api-keys"
          onRevoked={reload}
          onRotated={key.program ? undefined : show}
        />
      ),
    },
  ];
}

function sessionColumns(reload: () => void): Column<MemberSession>[] {
  return [
    { header: 'Name', cell: ({ name, current }) => (current ? `${name} (this browser)` : name) },
    { header: 'Authentication', cell: ({ opened_by: by }) => by },
    { header: 'Last seen', cell: ({ last_seen_at: at }) => <Time at={at} /> },
    { header: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
    { header: 'Expires', cell: ({ expires_at: at }) => <Time at={at} /> },
    {
      header: 'Actions',
      cell: ({ id, name, current }) => (
        <ConfirmedButton
          label="End"
          subject={`the session of ${name}`}
          name="DELETE /v1/me/sessions/{id}"
          input={{ params: { id } }}
          onDone={current ? () => location.assign('/login') : reload}
        >
          The browser is logged out within 5 seconds.
        </ConfirmedButton>
      ),
    },
  ];
}
