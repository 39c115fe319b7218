import { useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { DeletionProgress } from './deletion-progress.tsx';
import { Dialog } from './dialog.tsx';
import { TextField } from './fields.tsx';
import { Problem } from './problem.tsx';

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
      {begun === null ? null : <DeletionProgress {...begun} />}
    </>
  );
}
