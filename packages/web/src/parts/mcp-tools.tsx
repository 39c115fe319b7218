import type { WireMcpServer } from '@gatehouse/contract/mcp-servers';
import { useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api/api-error.ts';
import { call } from '../api/call.ts';
import { knownError } from '../api/use-answer.ts';
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
export function McpTools(props: McpToolsProps) {
  const [isOpen, setOpen] = useState(false);
  const { server, ticks, tick, error } = useTicks(props);
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
          <Problem error={error} />
          <ul class="tools">
            {tools.map((tool) => (
              <ToolItem
                key={tool.name}
                {...{ server, tool, onDone: props.onDone }}
                isOn={ticks.get(tool.name) ?? tool.enabled}
                onTick={tick}
              />
            ))}
          </ul>
        </Drawer>
      ) : null}
    </>
  );
}

interface ToolItemProps extends McpToolsProps {
  tool: WireMcpServer['tools'][number];
  isOn: boolean;
  onTick: (tool: string, isOn: boolean) => void;
}

function ToolItem({ server: { id }, tool, isOn, onTick, onDone }: ToolItemProps) {
  const { name, description, status, digest, accepted, reason } = tool;
  return (
    <li>
      <label class="check">
        <input type="checkbox" checked={isOn} onChange={() => onTick(name, !isOn)} />
        <code>{name}</code>
      </label>{' '}
      {status === 'needs_review' ? <Status state={status} /> : null}
      <p>{reason ?? description}</p>
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

type Ticks = ReadonlyMap<string, boolean>;

/** The ticks of a person, sent one after the other: each changes the latest answer, so it undoes no other tick. */
function useTicks({ server, onDone }: McpToolsProps) {
  const [answer, setAnswer] = useState(server);
  const [ticks, setTicks] = useState<Ticks>(new Map());
  const [error, setError] = useState<ApiError | null>(null);
  const newest = answer.updated_at > server.updated_at ? answer : server;
  const latest = useRef(newest);
  latest.current = newest;
  const sent = useRef(Promise.resolve());
  const send = async (tool: string, isOn: boolean): Promise<void> => {
    const { id, tool_filter: filter } = latest.current;
    const body = { tool_filter: filterWith(filter, tool, isOn) };
    try {
      latest.current = await call('PATCH /v1/mcp/servers/{id}', { params: { id }, body });
      setAnswer(latest.current);
      setError(null);
      onDone();
    } catch (problem) {
      setError(knownError(problem));
    }
    setTicks((all) => new Map([...all].filter(([name, last]) => name !== tool || last !== isOn)));
  };
  const tick = (tool: string, isOn: boolean): void => {
    setTicks((all) => new Map(all).set(tool, isOn));
    sent.current = sent.current.then(() => send(tool, isOn));
  };
  return { server: newest, ticks, tick, error };
}
