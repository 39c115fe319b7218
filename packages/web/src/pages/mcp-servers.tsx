import type { WireMcpServer } from '@gatehouse/contract/mcp-servers';
import { useState } from 'preact/hooks';
import { ActionButton } from '../parts/action-button.tsx';
import { ConsentLink, type ConsentLinkState } from '../parts/consent-link.tsx';
import { Creation } from '../parts/creation.tsx';
import { EnabledButtons } from '../parts/enabled-buttons.tsx';
import { NewMcpServerForm } from '../parts/new-mcp-server-form.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';

/** MCP servers with tools for agents. */
export function McpServers() {
  return (
    <Creation
      label="Register a server"
      title="Register an MCP server"
      form={(onCreated) => <NewMcpServerForm onCreated={onCreated} />}
    >
      {(_show, round) => <ServerList key={round} />}
    </Creation>
  );
}

function ServerList() {
  const [link, setLink] = useState<ConsentLinkState | null>(null);
  return (
    <>
      <ConsentLink link={link} />
      <ResourceList
        name="GET /v1/mcp/servers"
        input={{}}
        caption="MCP servers"
        columns={(reload) => [
          { header: 'Name', cell: ({ name }) => name },
          { header: 'Status', cell: ({ status }) => <Status state={status} /> },
          { header: 'Reason', cell: ({ status_reason: reason }) => reason ?? '' },
          { header: 'Address', cell: ({ url }) => <code>{url}</code> },
          {
            header: 'Tools',
            cell: (server) => <Tools server={server} onDone={reload} />,
          },
          { header: 'Listed', cell: ({ tools_updated_at: at }) => <Time at={at} otherwise="never" /> },
          {
            header: 'Change',
            cell: ({ id, name, auth, enabled }) => (
              <span class="actions">
                {auth.type === 'oauth' ? (
                  <ActionButton
                    label="Link for login"
                    subject={`at ${name}`}
                    name="POST /v1/mcp/servers/{id}/consent-links"
                    input={{ params: { id } }}
                    onDone={setLink}
                  />
                ) : null}
                <ActionButton
                  label="Refresh"
                  subject={`tools of ${name}`}
                  name="POST /v1/mcp/servers/{id}/refresh"
                  input={{ params: { id } }}
                  onDone={reload}
                />
                <EnabledButtons
                  path="/v1/mcp/servers/{id}"
                  {...{ id, enabled }}
                  subject={name}
                  effect="Agents lose its tools, and its secrets and consents are gone."
                  onDone={reload}
                />
              </span>
            ),
          },
        ]}
        keyOf={({ id }) => id}
        empty="There is no MCP server yet. Register one, and name it in an agent."
      />
    </>
  );
}

interface ToolsProps {
  server: WireMcpServer;
  onDone: () => void;
}

/** The tools of a server, with those in need of a review. */
function Tools({ server: { id, name: server, tools }, onDone }: ToolsProps) {
  return (
    <details>
      <summary aria-label={`Show the tools of ${server}`}>Show</summary>
      <ul>
        {tools.map(({ name, description, status, digest, accepted, reason }) => (
          <li key={name}>
            <code>{name}</code> {reason ?? description}{' '}
            {status === 'needs_review' ? <Status state={status} /> : null}
            {status === 'needs_review' && accepted !== null ? (
              <p>Accepted before: {accepted.description}</p>
            ) : null}
            {status === 'needs_review' ? (
              <ActionButton
                label="Accept"
                subject={`the tool ${name}`}
                name="POST /v1/mcp/servers/{id}/tools/{name}/accept"
                input={{ params: { id, name }, body: { digest } }}
                onDone={onDone}
              />
            ) : null}
          </li>
        ))}
      </ul>
    </details>
  );
}
