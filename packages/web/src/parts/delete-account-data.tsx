import { useParameter } from '../shell/location.tsx';
import { ConfirmedButton } from './confirmed-button.tsx';
import { DeletionProgress } from './deletion-progress.tsx';

/** Deletes what a person left, and shows how far the services are. */
export function DeleteOwnData({ user }: { user: string }) {
  const [id, setId] = useParameter('deletion');
  return (
    <>
      <h2>All of your data</h2>
      <p>
        Agents remember what you told them, and keep messages, cookies and logins at MCP servers for you. You
        can have all of it deleted.
      </p>
      <p class="actions">
        <ConfirmedButton
          label="Delete"
          subject="all of your data"
          name="DELETE /v1/users/{user_id}/data"
          input={{ params: { user_id: user } }}
          onDone={(deletion) => setId(deletion.id)}
        >
          Removes your memory, graph, messages, cookies and logins at MCP servers in every agent, and your own
          keys for providers, and clears previews in your traces. Usage and costs stay under a pseudonym. Your
          API keys and private agents stay. This can’t be undone.
        </ConfirmedButton>
      </p>
      {id === '' ? null : <DeletionProgress user={user} id={id} />}
    </>
  );
}
