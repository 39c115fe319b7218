import type { WireMcpServer } from '@gatehouse/contract/mcp-servers';
import { useState } from 'preact/hooks';
import { ActionButton } from '../parts/action-button.tsx';
import { ConsentLink, type ConsentLinkState } from '../parts/consent-link.tsx';
import { Creation } from '../parts/creation.tsx';
import { Drawer } from '../parts/drawer.tsx';
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
          { header: 'URL', cell: ({ url }) => <code>{url}</code> },
          {
            header: 'Tools',
            cell: (server) => <Tools server={server} onDone={reload} />,
          },
          { header: 'Tools updated', cell: ({ tools_updated_at: at }) => <Time at={at} otherwise="never" /> },
          {
            header: 'Actions',
            cell: ({ id, name, auth, enabled }) => (
              <span class="actions">
                {auth.type === 'oauth' ? (
                  <ActionButton
                    label="Login link"
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

/** The tools of a server, behind a button with their number; those in need of a review say so. */
function Tools({ server: { id, name: server, tools }, onDone }: ToolsProps) {
  const [isOpen, setOpen] = useState(false);
  const number = tools.length === 1 ? '1 tool' : `${tools.length} tools`;
  const waiting = tools.filter(({ status }) => status === 'needs_review').length;
  return (
    <>
      <button type="button" aria-label={`${number} of ${server}`} onClick={() => setOpen(true)}>
        {number}
      </button>
      {waiting === 0 ? null : <Status state="needs_review" />}
      {isOpen ? (
        <Drawer title={`Tools of ${server}`} onClose={() => setOpen(false)}>
          <ul class="tools">
            {tools.map((tool) => (
              <ToolItem key={tool.name} id={id} tool={tool} onDone={onDone} />
            ))}
          </ul>
        </Drawer>
      ) : null}
    </>
  );
}

interface ToolItemProps {
  /** The id of the server. */
  id: string;
  tool: WireMcpServer['tools'][number];
  onDone: () => void;
}

function ToolItem({ id, tool, onDone }: ToolItemProps) {
  const { name, description, status, digest, accepted, reason } = tool;
  return (
    <li>
      <code>{name}</code> {status === 'needs_review' ? <Status state={status} /> : null}
      <p>{reason ?? description}</p>
      {status === 'needs_review' && accepted !== null ? (
        <p class="faint">Accepted before: {accepted.description}</p>
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
  );
}
