import { Document } from 'yaml';
import { ApiError, type ApiClient } from '../api-client.ts';
import type { Operation } from '../operations.ts';
import { isMembers, type Members } from './members.ts';
import { creationOf, kinds, type Kind } from './kinds.ts';
import { mayHoldSecret, withoutSecret } from './secret-urls.ts';

/** Declarations as YAML, and the rest by reason. */
export interface Exported {
  text: string;
  leftOut: LeftOut;
}

/** Names of things left out, by the reason. */
type LeftOut = ReadonlyMap<string, readonly string[]>;

/** An export lacks something: exit code 1. */
export class IncompleteExport extends Error {
  constructor(leftOut: LeftOut) {
    super(
      [...leftOut].map(([reason, names]) => `Left out, because ${reason}: ${names.join(', ')}`).join('\n'),
    );
  }
}

/** The existing things, as far as the key can read them, as YAML for `apply`. */
export async function exported(
  client: ApiClient,
  { operations, isOwner }: { operations: readonly Operation[]; isOwner: boolean },
): Promise<Exported> {
  const lists: Record<string, Members[]> = {};
  const leftOut = new Map<string, string[]>();
  const leaveOut: LeaveOut = (reason, name) => leftOut.set(reason, [...(leftOut.get(reason) ?? []), name]);
  const names: NamesById = { agents: new Map(), channels: new Map() };
  const variableFor = uniqueVariables();
  for (const kind of kinds.filter(({ name }) => (name === 'tenants') === isOwner)) {
    const things = await readable(client, kind);
    if (things === null) {
      leaveOut('this key may not read them', kind.name);
      if (kind.name === 'channels') names.channels = null;
      continue;
    }
    const { unique, shared } = byUniqueName(
      kind,
      things.filter((thing) => isDeclarable(kind, thing)).map((thing) => asDeclared(kind, thing)),
    );
    for (const name of shared) leaveOut('several have the name', `${kind.name} ${withoutSecret(name)}`);
    if (kind.name === 'agents' || kind.name === 'channels')
      for (const thing of unique) names[kind.name]?.set(String(thing['id']), String(thing[kind.identity]));
    const members = creationMembers(operations, kind);
    const declarations = unique.map((thing) =>
      declarationOf(kind, thing, { members, names, variableFor, leaveOut }),
    );
    if (declarations.length > 0) lists[kind.name] = declarations;
  }
  return { text: textOf(lists, leftOut), leftOut };
}

type LeaveOut = (reason: string, name: string) => void;

/** Names in place of ids. Null for unreadable channels. */
interface NamesById {
  agents: Map<string, string>;
  channels: Map<string, string> | null;
}

/** All things of a kind; null if the key may not read them. */
async function readable(client: ApiClient, { path }: Kind): Promise<Members[] | null> {
  try {
    return await client.all<Members>({ method: 'GET', path: `${path}?limit=200` });
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return null;
    throw error;
  }
}

/**
 * Keys of logins and of programs end by themselves, and a new one comes with the next login, as users of logins and of
 * SCIM do. Policies and guardrails of the operator are not the tenant's.
 */
function isDeclarable({ name }: Kind, thing: Members): boolean {
  if (name === 'users') return thing['source'] === 'api';
  if (name === 'policies' || name === 'guardrails') return !String(thing['name']).startsWith('owner:');
  if (name !== 'api_keys') return true;
  const isOfLogin =
    /^login /.test(String(thing['created_by'])) || / \(program .*\)$/.test(String(thing['name']));
  return !isOfLogin && !['revoked', 'expired'].includes(String(thing['status']));
}

/** Users with their block of the API alone. */
function asDeclared({ name }: Kind, thing: Members): Members {
  if (name !== 'users') return thing;
  const { blocked_by: sides } = thing;
  const isBlocked = Array.isArray(sides) && sides.includes('api');
  return { ...thing, status: isBlocked ? 'blocked' : 'active' };
}

/** Things with a name of their own, in its order, and the names of several. */
function byUniqueName(
  { identity }: Kind,
  things: readonly Members[],
): { unique: Members[]; shared: string[] } {
  const byName = new Map<string, Members[]>();
  for (const thing of things) {
    const name = String(thing[identity]);
    byName.set(name, [...(byName.get(name) ?? []), thing]);
  }
  const sorted = [...byName].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    unique: sorted.flatMap(([, same]) => (same.length === 1 ? same : [])),
    shared: sorted.flatMap(([name, same]) => (same.length === 1 ? [] : [name])),
  };
}

/** Members of the body of a creation, in its order. */
function creationMembers(operations: readonly Operation[], kind: Kind): string[] {
  return creationOf(operations, kind)?.body?.map(({ name }) => name) ?? [];
}

interface Declaring {
  /** Members of the body of a creation. */
  members: readonly string[];
  names: NamesById;
  variableFor: VariableFor;
  leaveOut: LeaveOut;
}

function declarationOf(kind: Kind, thing: Members, { members, names, ...others }: Declaring): Members {
  const prefix = prefixOf(kind, thing);
  const variable = (member: string): string => others.variableFor(`${prefix}_${member}`);
  const credentials = credentialsOf(kind, thing, variable);
  return Object.fromEntries(
    [kind.identity, ...members.filter((name) => name !== kind.identity)].flatMap(
      (name): [string, unknown][] => {
        if (name in credentials) return [[name, credentials[name]]];
        const value = thing[name];
        if (value === undefined || value === null || kind.hidden.includes(name)) return [];
        const agent = name === 'agent_id' ? names.agents.get(String(thing[name])) : undefined;
        if (agent !== undefined) return [['agent', escaped(agent)]];
        if (name !== 'deliver_to' || !isMembers(value)) return [[name, declared(value, name, variable)]];
        const deliverTo = deliverToOf(value, names);
        if (deliverTo !== null) return [[name, deliverTo]];
        others.leaveOut(
          'the name of their channel is not known',
          `${kind.name} ${String(thing['name'])} deliver_to`,
        );
        return [];
      },
    ),
  );
}

/** `deliver_to` by the name of its channel; null for a channel without a name of its own, or a deleted one. */
function deliverToOf(
  { channel_instance_id: id, ...others }: Members,
  { channels }: NamesById,
): Members | null {
  if (channels === null) return { channel_instance_id: id, ...others };
  const channel = channels.get(String(id));
  return channel === undefined ? null : (escaped({ channel, ...others }) as Members);
}

/** A value for a file: URLs with a possible secret are variables of the environment. */
function declared(value: unknown, name: string, variable: (member: string) => string): unknown {
  if (typeof value === 'string' && /(^|_)url$/.test(name) && mayHoldSecret(value)) return variable(name);
  if (!isMembers(value)) return escaped(value);
  return Object.fromEntries(
    Object.entries(value).map(([part, each]) => [part, declared(each, part, variable)]),
  );
}

/** The value with escapes for text like `${NAME}`. */
function escaped(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(/\$\{\w+\}/g, (text) => `$${text}`);
  if (Array.isArray(value)) return value.map(escaped);
  if (isMembers(value))
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, escaped(part)]));
  return value;
}

/** A reference to a variable of the environment: `${CHANNEL_DESK_BOT_TOKEN}`. */
type VariableFor = (name: string) => string;

/** References to variables, each with a name of its own. */
function uniqueVariables(): VariableFor {
  const taken = new Set<string>();
  return (text) => {
    const plain = text.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
    let name = plain;
    for (let next = 2; taken.has(name); next += 1) name = `${plain}_${next}`;
    taken.add(name);
    return `\${${name}}`;
  };
}

/** The beginning of the names of a thing's variables. */
function prefixOf({ name: kind, identity }: Kind, thing: Members): string {
  const name = String(thing[identity]);
  if (kind === 'subscriptions') return `subscription_${URL.canParse(name) ? new URL(name).hostname : ''}`;
  return `${kind === 'mcp_servers' ? 'mcp' : kind.replace(/s$/, '')}_${name}`;
}

/** Schemes of endpoints whose secret is the sender's. */
const senderSchemes = ['stripe', 'slack', 'pagerduty', 'sentry', 'hmac'];
/** Credentials of channels by their types. Those of `generic` are made by the gateway. */
const credentialsOfChannels: Record<string, readonly string[]> = {
  telegram: ['bot_token', 'secret_token'],
  slack: ['bot_token', 'signing_secret'],
  zalo_oa: ['app_secret', 'oa_secret'],
};

/** Credentials, which are never shown, as variables of the environment. */
function credentialsOf({ name: kind }: Kind, thing: Members, variable: (member: string) => string): Members {
  switch (kind) {
    case 'mcp_servers':
      return { auth: authOf(thing['auth'], variable) };
    case 'channels': {
      const names = credentialsOfChannels[String(thing['type'])];
      return names === undefined
        ? {}
        : { credentials: Object.fromEntries(names.map((name) => [name, variable(name)])) };
    }
    case 'guardrails':
      return checkOf(thing['check'], variable);
    case 'endpoints':
      return senderSchemes.includes(String(thing['scheme'])) ? { secret: variable('secret') } : {};
    default:
      return {};
  }
}

/** The authentication of a server, of which the gateway shows whether secrets are set. */
function authOf(view: unknown, variable: (member: string) => string): Members {
  if (!isMembers(view)) return { type: 'none' };
  const { type, headers } = view;
  if (type === 'bearer') return { type, token: variable('token') };
  if (type === 'headers' && Array.isArray(headers)) {
    const names = headers.filter(isMembers).map(({ name }) => String(name));
    return { type, headers: Object.fromEntries(names.map((name) => [name, variable(name)])) };
  }
  const members = Object.entries(view).flatMap(([name, value]): [string, unknown][] => {
    if (name === 'client_secret_set')
      return value === true ? [['client_secret', variable('client_secret')]] : [];
    return value === null ? [] : [[name, declared(value, name, variable)]];
  });
  return Object.fromEntries(members);
}

/** The check of a guardrail that asks a server. */
function checkOf(view: unknown, variable: (member: string) => string): Members {
  if (!isMembers(view) || view['url'] === undefined) return {};
  const { auth, ...others } = view;
  return { check: { ...(declared(others, 'check', variable) as Members), auth: authOf(auth, variable) } };
}

function textOf(lists: Record<string, Members[]>, leftOut: LeftOut): string {
  const document = new Document(lists);
  const comments = [
    ' Written by gatehouse export. Credentials are variables of the environment.',
    ...[...leftOut].flatMap(([reason, names]) => [
      ` Left out, because ${reason}:`,
      ...names.map((name) => `   ${name}`),
    ]),
  ];
  document.commentBefore = comments.join('\n');
  return document.toString({ lineWidth: 0 });
}
