import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../api-client.ts';
import type { Operation } from '../operations.ts';
import { UsageError } from '../usage-error.ts';
import type { Declared, Members } from './declared.ts';
import { kinds, labelMember, type Kind } from './kinds.ts';

const ambiguous = Symbol('several have this name');

/** A step from the state of the gateway to the declared one. */
export interface Step {
  action: 'create' | 'update' | 'delete';
  kind: Kind;
  identity: string;
  /** The id of the existing thing. */
  id?: string;
  /** To send; an `agent` by its key instead of `agent_id`. */
  members: Members;
  differing: readonly string[];
}

export interface PlanOptions {
  /** Kept with agents; agents declared without a label keep theirs. */
  label: string | undefined;
  prune: boolean;
  sendSecrets: boolean;
  sets: SetsOfKinds;
}

/** Members with the meaning of sets in the contract, like `tools.builtin`, by the name of their kind. */
export type SetsOfKinds = ReadonlyMap<string, ReadonlySet<string>>;

/** The sets in the body of a creation, by kind. */
export function setsOfKinds(operations: readonly Operation[]): SetsOfKinds {
  return new Map(
    kinds.map((kind) => {
      const creation = operations.find(({ method, path }) => method === 'POST' && path === kind.path);
      return [kind.name, new Set(creation?.sets)];
    }),
  );
}

/** The existing things, by kind and identity. */
export type Present = ReadonlyMap<Kind, ReadonlyMap<string, ExistingResource>>;

type ExistingResource = Members & { [ambiguous]?: true };

/** Asks for all things of the declared kinds, and of agents always, since others refer to them. */
export async function readPresent(
  client: ApiClient,
  declared: Declared,
  { prune }: Pick<PlanOptions, 'prune'>,
): Promise<Present> {
  const present = new Map<Kind, Map<string, ExistingResource>>();
  const refersToAgents = (kind: Kind): boolean => ['agents', 'channels', 'endpoints'].includes(kind.name);
  const isAsked = (kind: Kind): boolean => (declared.get(kind)?.length ?? 0) > 0;
  const agentsMatter = prune || kinds.some((kind) => refersToAgents(kind) && isAsked(kind));
  for (const kind of kinds) {
    if (!isAsked(kind) && !(refersToAgents(kind) && (prune || (kind.name === 'agents' && agentsMatter))))
      continue;
    const resources = await client.all<Members>({ method: 'GET', path: `${kind.path}?limit=200` });
    present.set(kind, byIdentity(kind, resources));
  }
  return present;
}

/** Marks names shared by several things. Revoked and expired keys don't count. */
function byIdentity(kind: Kind, things: readonly Members[]): Map<string, ExistingResource> {
  const grouped = new Map<string, ExistingResource>();
  for (const thing of things) {
    if (kind.name === 'api_keys' && ['revoked', 'expired'].includes(String(thing['status']))) continue;
    const identity = String(thing[kind.identity]);
    if (grouped.has(identity)) grouped.set(identity, { ...thing, [ambiguous]: true });
    else grouped.set(identity, thing);
  }
  return grouped;
}

/** The steps, in an order in which what is needed comes first; nothing is asked or changed. */
export function planSteps(declared: Declared, present: Present, options: PlanOptions): Step[] {
  const agents = agentKeys(present);
  const steps: Step[] = [];
  for (const kind of kinds)
    for (const thing of declared.get(kind) ?? []) {
      const step = stepFor(kind, labelled(kind, thing, options.label), { present, agents, options });
      if (step !== undefined) steps.push(step);
    }
  return options.prune ? [...steps, ...deletions(declared, present, options.label)] : steps;
}

function labelled(kind: Kind, thing: Members, label: string | undefined): Members {
  if (kind.name !== 'agents' || label === undefined) return thing;
  return { ...thing, metadata: { ...(thing['metadata'] as Members | undefined), [labelMember]: label } };
}

function stepFor(
  kind: Kind,
  thing: Members,
  {
    present,
    agents,
    options,
  }: { present: Present; agents: ReadonlyMap<string, string>; options: PlanOptions },
): Step | undefined {
  const identity = String(thing[kind.identity]);
  const there = present.get(kind)?.get(identity);
  if (there === undefined)
    return { action: 'create', kind, identity, members: thing, differing: Object.keys(thing) };
  if (there[ambiguous] === true)
    throw new UsageError(`${kind.name}: several are named ${identity}. Rename or delete the others first.`);
  const current = { ...there, agent: agents.get(String(there['agent_id'])) };
  const isCompared = (name: string): boolean =>
    !kind.hidden.includes(name) && (!kind.once.includes(name) || name in there);
  const sets = options.sets.get(kind.name) ?? new Set();
  const compared = Object.keys(thing).filter(isCompared);
  const differing = compared.filter(
    (name) => !holds((current as Members)[name], thing[name], { path: name, sets }),
  );
  const sent = options.sendSecrets ? kind.hidden.filter((name) => thing[name] !== undefined) : [];
  if (differing.length === 0 && sent.length === 0) return undefined;
  if (!kind.canChange || differing.some((name) => kind.once.includes(name)))
    throw new UsageError(
      `${kind.name}: ${identity} differs in ${differing.join(', ')}, and can't be changed: name another, or remove this one first.`,
    );
  const members = Object.fromEntries(
    [...differing, ...sent].map((name) => [name, merged((current as Members)[name], thing[name])]),
  );
  return {
    action: 'update',
    kind,
    identity,
    id: String(there['id']),
    members,
    differing: [...differing, ...sent],
  };
}

/** Whether a value has everything declared; anything else is left alone. Values of sets may have any order. */
function holds(there: unknown, declared: unknown, at: { path: string; sets: ReadonlySet<string> }): boolean {
  if (isMembers(declared) && isMembers(there))
    return Object.entries(declared).every(([name, value]) =>
      holds(there[name], value, { ...at, path: `${at.path}.${name}` }),
    );
  if (isTime(there) && isTime(declared)) return Date.parse(there) === Date.parse(declared);
  if (at.sets.has(at.path) && Array.isArray(there) && Array.isArray(declared))
    return isDeepStrictEqual(new Set<unknown>(there), new Set<unknown>(declared));
  return isDeepStrictEqual(there ?? null, declared ?? null);
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\d[Tt].*([Zz]|[+-]\d\d:\d\d)$/.test(value);
}

function merged(there: unknown, declared: unknown): unknown {
  if (!isMembers(declared) || !isMembers(there)) return declared;
  const members = Object.entries(declared).map(([name, value]) => [name, merged(there[name], value)]);
  return { ...there, ...(Object.fromEntries(members) as Members) };
}

/** Labelled agents, and their channels and endpoints, if no longer declared. */
function deletions(declared: Declared, present: Present, label: string | undefined): Step[] {
  const carriers = new Set<string>();
  for (const [kind, things] of present)
    if (kind.name === 'agents')
      for (const agent of things.values())
        if ((agent['metadata'] as Members | undefined)?.[labelMember] === label)
          carriers.add(String(agent['id']));
  const isOurs = (kind: Kind, thing: Members): boolean =>
    carriers.has(String(kind.name === 'agents' ? thing['id'] : thing['agent_id']));
  return kinds
    .filter(({ name }) => ['agents', 'channels', 'endpoints'].includes(name))
    .toReversed()
    .flatMap((kind) => {
      const declaredIds = new Set(declared.get(kind)?.map((thing) => thing[kind.identity]));
      return [...(present.get(kind) ?? [])]
        .filter(([identity, thing]) => !declaredIds.has(identity) && isOurs(kind, thing))
        .map(([identity, thing]): Step => {
          return { action: 'delete', kind, identity, id: String(thing['id']), members: {}, differing: [] };
        });
    });
}

/** Keys of agents by their ids. */
function agentKeys(present: Present): Map<string, string> {
  const keys = new Map<string, string>();
  for (const [kind, things] of present)
    if (kind.name === 'agents')
      for (const agent of things.values()) keys.set(String(agent['id']), String(agent['key']));
  return keys;
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
