import type { WireMcpServer } from '@gatehouse/contract/mcp-servers';
import { useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { filterWith } from '../format/tool-filter.ts';
import { ActionButton } from './action-button.tsx';
import { Drawer } from './drawer.tsx';
import { EmptyText } from './empty-state.tsx';
import { Problem } from './problem.tsx';
import { Status } from './status.tsx';

interface McpToolsProps {
  server: WireMcpServer;
  onDone: () => void;
}

/** The tools of a server, behind a button with their number; those in need of a review say so. */
export function McpTools({ server, onDone }: McpToolsProps) {
  const [isOpen, setOpen] = useState(false);
  const { name, tools } = server;
  const offered = tools.filter(({ enabled }) => enabled).length;
  const all = tools.length === 1 ? '1 tool' : `${tools.length} tools`;
  const number = offered === tools.length ? all : `${offered} of ${all}`;
  const waiting = tools.filter(({ status }) => status === 'needs_review').length;
  return (
    <>
      <button type="button" aria-label={`${number} of ${name}`} onClick={() => setOpen(true)}>
        {number}
      </button>
      {waiting === 0 ? null : <Status state="needs_review" />}
      {isOpen ? (
        <Drawer title={`Tools of ${name}`} onClose={() => setOpen(false)}>
          {tools.length === 0 ? (
            <EmptyText text="The server has listed no tool. Choose Refresh, or log in to it first." />
          ) : (
            <p class="faint">Agents are offered the ticked tools.</p>
          )}
          <ul class="tools">
            {tools.map((tool) => (
              <ToolItem key={tool.name} server={server} tool={tool} onDone={onDone} />
            ))}
          </ul>
        </Drawer>
      ) : null}
    </>
  );
}

interface ToolItemProps extends McpToolsProps {
  tool: WireMcpServer['tools'][number];
}

function ToolItem({ server, tool, onDone }: ToolItemProps) {
  const { id, tool_filter: filter } = server;
  const { name, description, status, digest, accepted, reason, enabled } = tool;
  const change = useAction('PATCH /v1/mcp/servers/{id}');
  const toggle = async (): Promise<void> => {
    const answer = await change.run({
      params: { id },
      body: { tool_filter: filterWith(filter, name, !enabled) },
    });
    if (answer !== null) onDone();
  };
  return (
    <li>
      <label class="check">
        <input type="checkbox" checked={enabled} disabled={change.isRunning} onChange={() => void toggle()} />
        <code>{name}</code>
      </label>{' '}
      {status === 'needs_review' ? <Status state={status} /> : null}
      <p>{reason ?? description}</p>
      <Problem error={change.error} />
      {status === 'needs_review' ? (
        <>
          {accepted === null ? null : <p class="faint">Accepted before: {accepted.description}</p>}
          <ActionButton
            label="Accept"
            subject={`the tool ${name}`}
            name="POST /v1/mcp/servers/{id}/tools/{name}/accept"
            input={{ params: { id, name }, body: { digest } }}
            onDone={onDone}
          />
        </>
      ) : null}
    </li>
  );
}
