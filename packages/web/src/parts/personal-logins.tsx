import { useEffect, useState } from 'preact/hooks';
import { ActionButton } from './action-button.tsx';
import { ConfirmedButton } from './confirmed-button.tsx';
import { ConsentLink, type ConsentLinkState } from './consent-link.tsx';
import { ResourceList } from './resource-list.tsx';
import { Status } from './status.tsx';
import { Time } from './time.tsx';

/** The MCP servers where a person has a login, or can have one. */
export function PersonalLogins() {
  const [link, setLink] = useState<ConsentLinkState | null>(null);
  const [isOpened, setOpened] = useState(false);
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (!isOpened) return undefined;
    // Back from the tab of the consent, the list shows what has become of it.
    const look = (): void => {
      setOpened(false);
      setLink(null);
      setRound((last) => last + 1);
    };
    addEventListener('focus', look);
    return () => removeEventListener('focus', look);
  }, [isOpened]);
  return (
    <>
      <ConsentLink link={link} onOpen={() => setOpened(true)} />
      <ResourceList
        key={round}
        name="GET /v1/mcp/logins"
        input={{}}
        parameter="logins"
        caption="Logins at MCP servers that agents use for you"
        columns={(reload) => [
          { header: 'Server', cell: ({ server_name: name }) => name },
          { header: 'Host', cell: ({ server_host: host }) => <code>{host}</code> },
          { header: 'Status', cell: ({ status }) => <Status state={status} /> },
          { header: 'Logged in', cell: ({ logged_in_at: at }) => <Time at={at} otherwise="never" /> },
          { header: 'Expires', cell: ({ expires_at: at }) => <Time at={at} /> },
          {
            header: 'Actions',
            cell: ({ server_id: id, server_name: name, status }) => (
              <span class="actions">
                {status === 'logged_in' ? null : (
                  <ActionButton
                    label="Log in"
                    subject={`at ${name}`}
                    name="POST /v1/mcp/servers/{id}/consent-links"
                    input={{ params: { id } }}
                    onDone={setLink}
                  />
                )}
                {status === 'needs_login' ? null : (
                  <ConfirmedButton
                    label="Log out"
                    subject={`at ${name}`}
                    name="DELETE /v1/mcp/logins/{server_id}"
                    input={{ params: { server_id: id } }}
                    onDone={reload}
                  >
                    Agents can’t use the tools of this server for you until you log in again.
                  </ConfirmedButton>
                )}
              </span>
            ),
          },
        ]}
        keyOf={({ server_id: id }) => id}
        empty="No MCP server of your tenant wants a login of yours."
      />
    </>
  );
}
