import { useState } from 'preact/hooks';
import { ConfirmDialog } from './confirmed-button.tsx';
import { DeletionProgress } from './deletion-progress.tsx';
import { TextField } from './fields.tsx';

/** Deletes what an end user left, and shows how far the services are. */
export function DeleteUserData() {
  const [user, setUser] = useState('');
  const [isAsking, setAsking] = useState(false);
  const [begun, setBegun] = useState<{ user: string; id: string } | null>(null);
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setAsking(true);
        }}
      >
        <TextField label="User ID" value={user} onChange={setUser} isRequired maxLength={255} />
        <p class="actions">
          <button type="submit">Delete their data</button>
        </p>
      </form>
      {isAsking ? (
        <ConfirmDialog
          label="Delete"
          subject={`the data of ${user}`}
          name="DELETE /v1/users/{user_id}/data"
          input={{ params: { user_id: user } }}
          onDone={({ id }) => setBegun({ user, id })}
          onClose={() => setAsking(false)}
        >
          Removes their memory, graph, messages and cookies in every agent, and clears previews in traces.
          Amounts stay under a pseudonym. This can’t be undone.
        </ConfirmDialog>
      ) : null}
      {begun === null ? null : <DeletionProgress {...begun} />}
    </>
  );
}
