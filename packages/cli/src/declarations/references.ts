import { randomUUID } from 'node:crypto';
import type { Members } from './declared.ts';
import { isMembers } from './differences.ts';
import { kinds, type Kind } from './kinds.ts';
import type { Present, Step } from './plan.ts';

/** Ids of agents by their keys. */
export type AgentIds = ReadonlyMap<string, string>;

export function agentIds(present: Present): Map<string, string> {
  const agents = kinds.find(({ name }) => name === 'agents');
  const agentsByKey = agents === undefined ? undefined : present.get(agents);
  return new Map([...(agentsByKey ?? [])].map(([key, { id }]) => [key, String(id)]));
}

/** The members with `agent_id` in place of the key of an agent. */
export function withAgentId({ agent, ...others }: Members, agents: AgentIds): Members {
  return agent === undefined
    ? others
    : { ...others, agent_id: typeof agent === 'string' ? agents.get(agent) : agent };
}

/** Whether the steps create a thing of this kind and name. */
export function createdBy(steps: readonly Step[]): (kind: Kind['name'], identity: string) => boolean {
  const created = new Set(
    steps
      .filter(({ action }) => action === 'create')
      .map(({ kind, identity }) => JSON.stringify([kind.name, identity])),
  );
  return (kind, identity) => created.has(JSON.stringify([kind, identity]));
}

/**
 * The members without references to what the same plan creates, which the gateway doesn't have yet: names of servers are
 * left out, and a required agent has an unused id, which is `isStandIn`.
 */
export function withoutCreated(
  members: Members,
  { agents, isCreated }: { agents: AgentIds; isCreated: ReturnType<typeof createdBy> },
): { json: Members; isStandIn: boolean } {
  const { agent, tools, ...others } = members;
  const isStandIn = typeof agent === 'string' && !agents.has(agent);
  const refs = isMembers(tools) ? tools['mcp_servers'] : undefined;
  const known = Array.isArray(refs)
    ? refs.filter((ref) => !isCreated('mcp_servers', serverOf(ref).server))
    : undefined;
  return {
    json: {
      ...withAgentId({ ...others, ...(agent !== undefined && !isStandIn && { agent }) }, agents),
      ...(isStandIn && { agent_id: randomUUID() }),
      ...(tools !== undefined && {
        tools: known === undefined ? tools : { ...(tools as Members), mcp_servers: known },
      }),
    },
    isStandIn,
  };
}

/** The parts of a reference of an agent: `server` or `server/tool`. */
export function serverOf(ref: unknown): { server: string; tool: string | undefined } {
  const [server = '', ...tool] = String(ref).split('/');
  return { server, tool: tool.length === 0 ? undefined : tool.join('/') };
}
