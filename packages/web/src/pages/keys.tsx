import type { ApiKey } from '@gatehouse/contract/keys';
import { useState } from 'preact/hooks';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { KeySnippets } from '../parts/key-snippets.tsx';
import { NewKeyForm } from '../parts/new-key-form.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { RotateKeyButton } from '../parts/rotate-key-button.tsx';
import { ShownSecret } from '../parts/shown-secret.tsx';
import { Status } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';

/** The API keys of the tenant. */
export function Keys() {
  const [isNew, setNew] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const [round, setRound] = useState(0);
  const show = (key: string): void => {
    setNew(false);
    setSecret(key);
    setRound(round + 1);
  };
  return (
    <>
      <p class="actions">
        <button type="button" class="primary" onClick={() => setNew(true)}>
          Create a key
        </button>
      </p>
      {isNew ? (
        <Dialog title="Create a key" onClose={() => setNew(false)}>
          <NewKeyForm onCreated={show} />
        </Dialog>
      ) : null}
      {secret === null ? null : (
        <Dialog title="The new key" onClose={() => setSecret(null)}>
          <ShownSecret label="API key." secret={secret} />
          <KeySnippets secret={secret} />
          <p class="actions">
            <button type="button" onClick={() => setSecret(null)}>
              I have stored it
            </button>
          </p>
        </Dialog>
      )}
      <ResourceList
        key={round}
        name="GET /v1/api-keys"
        input={{}}
        caption="API keys"
        columns={(reload) => columnsOf(show, reload)}
        keyOf={({ id }) => id}
        empty="There is no key yet. Create one, and paste it into a program."
      />
    </>
  );
}

function columnsOf(show: (key: string) => void, reload: () => void): Column<ApiKey>[] {
  return [
    { header: 'Name', cell: ({ name }) => name },
    { header: 'Begins with', cell: ({ prefix }) => <code>{prefix}</code> },
    { header: 'Status', cell: ({ status }) => <Status of={status} /> },
    { header: 'Role', cell: ({ role }) => role },
    { header: 'User', cell: ({ user_id: user }) => user ?? '–' },
    { header: 'Last used', cell: ({ last_used_at: at }) => <Time at={at} otherwise="never" /> },
    { header: 'Expires', cell: ({ expires_at: at }) => <Time at={at} otherwise="never" /> },
    { header: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
    {
      header: 'Change',
      cell: ({ id, name, status }) =>
        status === 'revoked' || status === 'expired' ? null : (
          <span class="actions">
            <RotateKeyButton id={id} name={name} onRotated={show} />
            <ConfirmedButton
              label="Revoke"
              of={name}
              name="POST /v1/api-keys/{id}/revoke"
              input={{ params: { id }, body: {} }}
              onDone={reload}
            >
              Programs with this key get 401 within 5 seconds. A revoked key can’t be brought back.
            </ConfirmedButton>
          </span>
        ),
    },
  ];
}
