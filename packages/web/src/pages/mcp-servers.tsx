import type { WireMcpServer } from '@gatehouse/contract/mcp-servers';
import { useState } from 'preact/hooks';
import { ActionButton } from '../parts/action-button.tsx';
import { ConsentLink, type ConsentLinkState } from '../parts/consent-link.tsx';
import { Creation } from '../parts/creation.tsx';
import { EnabledButtons } from '../parts/enabled-buttons.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { McpServerForm, NewMcpServerForm } from '../parts/mcp-server-form.tsx';
import { McpTools } from '../parts/mcp-tools.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';

/** MCP servers with tools for agents. */
export function McpServers() {
  return (
    <Creation<WireMcpServer>
      label="Register a server"
      title="Register an MCP server"
      createdTitle="The new server"
      form={(onCreated) => <NewMcpServerForm onCreated={onCreated} />}
      showMade={(created, close) => <ServerCreated server={created} close={close} />}
    >
      {(_show, round) => <ServerList key={round} />}
    </Creation>
  );
}

/** A new server, and the next step. */
function ServerCreated({ server, close }: { server: WireMcpServer; close: () => void }) {
  const { name, auth, status, tools } = server;
  return (
    <>
      <p>
        <strong>{name}</strong> <Status state={status} />
      </p>
      <p>
        {auth.type === 'oauth'
          ? auth.per_user
            ? 'Each user logs in on their page My data, or by the link that an agent shows. Agents then call it as the user.'
            : 'Choose Login link in the list, and open it as the person who consents.'
          : `It has ${tools.length} tools. Tick those for agents in the list, and choose the server in an agent.`}
      </p>
      <p class="actions">
        <a class="button" href="/app/agents">
          Agents
        </a>
        <button type="button" onClick={close}>
          Close
        </button>
      </p>
    </>
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
          { header: 'Tools', cell: (server) => <McpTools server={server} onDone={reload} /> },
          { header: 'Tools updated', cell: ({ tools_updated_at: at }) => <Time at={at} otherwise="never" /> },
          {
            header: 'Actions',
            cell: (server) => <ServerButtons server={server} onDone={reload} onLink={setLink} />,
          },
        ]}
        keyOf={({ id }) => id}
        empty="There is no MCP server yet. Register one, and choose it in an agent."
      />
    </>
  );
}

interface ServerButtonsProps {
  server: WireMcpServer;
  onDone: () => void;
  onLink: (link: ConsentLinkState) => void;
}

function ServerButtons({ server, onDone, onLink }: ServerButtonsProps) {
  const { id, name, auth, enabled } = server;
  return (
    <span class="actions">
      {auth.type === 'oauth' ? (
        <ActionButton
          label="Login link"
          subject={`at ${name}`}
          name="POST /v1/mcp/servers/{id}/consent-links"
          input={{ params: { id } }}
          onDone={onLink}
        />
      ) : null}
      <ActionButton
        label="Refresh"
        subject={`tools of ${name}`}
        name="POST /v1/mcp/servers/{id}/refresh"
        input={{ params: { id } }}
        onDone={onDone}
      />
      <FormButton label="Edit" subject={name} onDone={onDone}>
        {(done) => <McpServerForm server={server} onDone={done} />}
      </FormButton>
      <EnabledButtons
        path="/v1/mcp/servers/{id}"
        {...{ id, enabled }}
        subject={name}
        effect="Agents lose its tools, and its secrets and consents are gone."
        onDone={onDone}
      />
    </span>
  );
}
