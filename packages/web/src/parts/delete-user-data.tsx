import type { UserDataDeletion } from '@gatehouse/contract/users';
import { useEffect, useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { useAnswer } from '../api/use-answer.ts';
import { Dialog } from './dialog.tsx';
import { TextField } from './fields.tsx';
import { KnownAnswer } from './known-answer.tsx';
import { Problem } from './problem.tsx';
import { Status } from './status.tsx';
import { Table } from './table.tsx';

const progressMs = 2_000;

/** Deletes what an end user left, and shows how far the services are. */
export function DeleteUserData() {
  const [user, setUser] = useState('');
  const [isAsking, setAsking] = useState(false);
  const [begun, setBegun] = useState<{ user: string; id: string } | null>(null);
  const remove = useAction('DELETE /v1/users/{user_id}/data');
  const confirm = async (): Promise<void> => {
    const deletion = await remove.run({ params: { user_id: user } });
    if (deletion === null) return;
    setAsking(false);
    setBegun({ user, id: deletion.id });
  };
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setAsking(true);
        }}
      >
        <TextField label="User id" value={user} onChange={setUser} isRequired maxLength={255} />
        <p class="actions">
          <button type="submit">Delete their data</button>
        </p>
      </form>
      {isAsking ? (
        <Dialog title={`Delete the data of ${user}?`} onClose={() => setAsking(false)}>
          <p>
            Removes their memory, graph, messages and cookies in every agent, and clears previews in traces.
            Amounts stay under a pseudonym. This can’t be undone.
          </p>
          <Problem error={remove.error} />
          <p class="actions">
            <button type="button" class="danger" disabled={remove.isRunning} onClick={() => void confirm()}>
              Delete
            </button>
            <button type="button" onClick={() => setAsking(false)}>
              Cancel
            </button>
          </p>
        </Dialog>
      ) : null}
      {begun === null ? null : <Progress {...begun} />}
    </>
  );
}

function Progress({ user, id }: { user: string; id: string }) {
  const known = useAnswer('GET /v1/users/{user_id}/data/deletions/{id}', { params: { user_id: user, id } });
  const { answer, reload } = known;
  useEffect(() => {
    if (answer?.status === 'completed') return;
    const timer = setInterval(reload, progressMs);
    return () => clearInterval(timer);
  }, [answer?.status, reload]);
  return (
    <KnownAnswer known={known}>
      {(deletion: UserDataDeletion) => (
        <Table
          caption={`Deletion of the data of ${user}: ${deletion.status}`}
          columns={[
            { header: 'Service', cell: ({ service }) => service },
            { header: 'Status', cell: ({ status }) => <Status of={status} /> },
            { header: 'Removed', cell: ({ counts }) => countsText(counts) },
          ]}
          rows={deletion.services}
          keyOf={({ service }) => service}
          empty="No service has begun."
        />
      )}
    </KnownAnswer>
  );
}

function countsText(counts: Readonly<Record<string, number>>): string {
  const texts = Object.entries(counts).map(([kind, number]) => `${number} ${kind.replaceAll('_', ' ')}`);
  return texts.length === 0 ? 'nothing' : texts.join(', ');
}
