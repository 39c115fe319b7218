import { randomUUID } from 'node:crypto';
import { isMembers, type Members } from './members.ts';
import type { Kind } from './kinds.ts';
import { usersOf } from './policy-users.ts';
import { isAmbiguous, type Present } from './present.ts';

/** Kinds with names in place of ids elsewhere. */
export type NamedKind = 'agents' | 'channels' | 'users';

/** Ids of existing things by their names, without shared names. */
export type Ids = Readonly<Record<NamedKind, Map<string, string>>>;

/** The ids of the existing things. */
export function idsOf(present: Present): Ids {
  const ids: Ids = { agents: new Map(), channels: new Map(), users: new Map() };
  for (const [kind, things] of present)
    if (kind.name === 'agents' || kind.name === 'channels' || kind.name === 'users')
      for (const [name, thing] of things)
        if (!isAmbiguous(thing)) ids[kind.name].set(name, String(thing[kind.isPut ? kind.identity : 'id']));
  return ids;
}

/** A name in a declaration, in place of an id. */
export interface NameReference {
  kind: NamedKind;
  name: unknown;
  path: readonly string[];
}

/** The references of a declaration by name. */
export function referencesOf({ agent, deliver_to: deliverTo }: Members): NameReference[] {
  const references: NameReference[] = [];
  if (agent !== undefined) references.push({ kind: 'agents', name: agent, path: ['agent'] });
  if (isMembers(deliverTo) && deliverTo['channel'] !== undefined)
    references.push({ kind: 'channels', name: deliverTo['channel'], path: ['deliver_to', 'channel'] });
  return references;
}

/** The members for the API, with `agent_id` in place of an agent's key, and likewise for the channel of `deliver_to`. */
export function withIds({ agent, ...others }: Members, ids: Ids): Members {
  const { deliver_to: deliverTo } = others;
  const idOf = (kind: NamedKind, name: unknown): unknown =>
    typeof name === 'string' ? ids[kind].get(name) : name;
  const members = agent === undefined ? others : { ...others, agent_id: idOf('agents', agent) };
  if (!isMembers(deliverTo) || deliverTo['channel'] === undefined) return members;
  const { channel, ...rest } = deliverTo;
  return { ...members, deliver_to: { ...rest, channel_instance_id: idOf('channels', channel) } };
}

/** An existing thing with names in place of ids, as its declaration has them. */
export function withNames(thing: Members, declared: Members, ids: Ids): Members {
  const named: Members = { ...thing };
  const nameOf = (kind: NamedKind, id: unknown): string | undefined =>
    [...ids[kind]].find(([, known]) => known === id)?.[0];
  for (const { kind } of referencesOf(declared))
    if (kind === 'agents') named['agent'] = nameOf(kind, thing['agent_id']);
    else if (isMembers(thing['deliver_to'])) {
      const { channel_instance_id: id, ...others } = thing['deliver_to'];
      named['deliver_to'] = { ...others, channel: nameOf(kind, id) };
    }
  const { overrides, select, per } = thing;
  if (isMembers(overrides) && isMembers(declared['overrides'])) {
    const spelled = spelledAs(Object.keys(declared['overrides']), per === 'agent' ? ids.agents : ids.users);
    named['overrides'] = Object.fromEntries(
      Object.entries(overrides).map(([name, override]) => [spelled(name), override]),
    );
  }
  if (isMembers(select) && Array.isArray(select['users'])) {
    const spelled = spelledAs(usersOf({ select: declared['select'] }), ids.users);
    named['select'] = { ...select, users: select['users'].map((name) => spelled(String(name))) };
  }
  return named;
}

/** Returns the declared names of values: the gateway shows ids, and groups as they are called. */
function spelledAs(declared: readonly string[], ids: ReadonlyMap<string, string>): (name: string) => string {
  const folded = (name: string): string => name.normalize('NFC').toLowerCase();
  const spellings = new Map(declared.map((name) => [folded(ids.get(name) ?? name), name]));
  return (name) => (declared.includes(name) ? name : (spellings.get(folded(name)) ?? name));
}

/** A step with the name of its thing. */
interface CreatingStep {
  action: string;
  kind: Kind;
  identity: string;
}

/** Whether the steps create a thing of this kind and name. */
export function createdBy(steps: readonly CreatingStep[]): (kind: Kind['name'], identity: string) => boolean {
  const created = new Set(
    steps
      .filter(({ action }) => action === 'create')
      .map(({ kind, identity }) => JSON.stringify([kind.name, identity])),
  );
  return (kind, identity) => created.has(JSON.stringify([kind, identity]));
}

/**
 * The members without references to what the same plan creates, which the gateway doesn't have yet: names of servers and
 * `deliver_to` are left out, and a required agent has an unused id, which is `isStandIn`.
 */
export function withoutCreated(
  members: Members,
  { ids, isCreated }: { ids: Ids; isCreated: ReturnType<typeof createdBy> },
): { json: Members; isStandIn: boolean } {
  const { agent, tools, deliver_to: deliverTo, ...others } = members;
  const isStandIn = typeof agent === 'string' && !ids.agents.has(agent);
  const refs = isMembers(tools) ? tools['mcp_servers'] : undefined;
  const known = Array.isArray(refs)
    ? refs.filter((ref) => !isCreated('mcp_servers', serverOf(ref).server))
    : undefined;
  const isNewChannel = isMembers(deliverTo) && isCreated('channels', String(deliverTo['channel']));
  const sent = {
    ...others,
    ...(agent !== undefined && !isStandIn && { agent }),
    ...(deliverTo !== undefined && { deliver_to: isNewChannel ? null : deliverTo }),
  };
  return {
    json: {
      ...withIds(sent, ids),
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
