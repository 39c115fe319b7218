import { Document } from 'yaml';
import type { ApiClient } from '../api-client.ts';
import type { Operation } from '../operations.ts';
import type { Members } from './declared.ts';
import { isMembers } from './differences.ts';
import { kinds, type Kind } from './kinds.ts';

/** The existing things, as far as the key can read them, as YAML for `apply`. */
export async function exported(
  client: ApiClient,
  { operations, isOwner }: { operations: readonly Operation[]; isOwner: boolean },
): Promise<string> {
  const lists: Record<string, Members[]> = {};
  const leftOut: string[] = [];
  const agents = new Map<string, string>();
  for (const kind of kinds.filter(({ name }) => (name === 'tenants') === isOwner)) {
    const things = await client.all<Members>({ method: 'GET', path: `${kind.path}?limit=200` });
    if (kind.name === 'agents') for (const { id, key } of things) agents.set(String(id), String(key));
    const names = creationMembers(operations, kind);
    const { unique, shared } = byUniqueName(
      kind,
      things.filter((thing) => isDeclarable(kind, thing)),
    );
    leftOut.push(...shared.map((name) => `${kind.name} ${name}`));
    const declarations = unique.map((thing) => declarationOf(kind, thing, { names, agents }));
    if (declarations.length > 0) lists[kind.name] = declarations;
  }
  return textOf(lists, leftOut);
}

/** Keys of logins and of programs end by themselves; a new one comes with the next login. */
function isDeclarable({ name }: Kind, thing: Members): boolean {
  if (name !== 'api_keys') return true;
  const isOfLogin =
    /^login /.test(String(thing['created_by'])) || / \(program .*\)$/.test(String(thing['name']));
  return !isOfLogin && !['revoked', 'expired'].includes(String(thing['status']));
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
function creationMembers(operations: readonly Operation[], { path }: Kind): string[] {
  const creation = operations.find((each) => each.method === 'POST' && each.path === path);
  return creation?.body?.map(({ name }) => name) ?? [];
}

function declarationOf(
  kind: Kind,
  thing: Members,
  { names, agents }: { names: readonly string[]; agents: ReadonlyMap<string, string> },
): Members {
  const credentials = credentialsOf(kind, thing);
  const members = [kind.identity, ...names.filter((name) => name !== kind.identity)].flatMap(
    (name): [string, unknown][] => {
      if (name in credentials) return [[name, credentials[name]]];
      const value = thing[name];
      if (value === undefined || value === null || kind.hidden.includes(name)) return [];
      const agent = name === 'agent_id' && typeof value === 'string' ? agents.get(value) : undefined;
      return [agent === undefined ? [name, escaped(value)] : ['agent', agent]];
    },
  );
  return Object.fromEntries(members);
}

/** The value with escapes for text like `${NAME}`. */
function escaped(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(/\$\{\w+\}/g, (text) => `$${text}`);
  if (Array.isArray(value)) return value.map(escaped);
  if (isMembers(value))
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, escaped(part)]));
  return value;
}

/** Schemes of endpoints whose secret is the sender's. */
const senderSchemes = ['stripe', 'slack', 'pagerduty', 'sentry', 'hmac'];
/** Credentials of channels by their types. Those of `generic` are made by the gateway. */
const credentialsOfChannels: Record<string, readonly string[]> = {
  telegram: ['bot_token', 'secret_token'],
  slack: ['bot_token', 'signing_secret'],
  zalo_oa: ['app_secret', 'oa_secret'],
};

/** Credentials, which are never shown, as variables of the environment: `${CHANNEL_DESK_BOT_TOKEN}`. */
function credentialsOf({ name: kind }: Kind, thing: Members): Members {
  const variable = (prefix: string, member: string): string =>
    `\${${`${prefix}_${String(thing['name'])}_${member}`.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}}`;
  switch (kind) {
    case 'mcp_servers':
      return { auth: authOf(thing['auth'], (member) => variable('mcp', member)) };
    case 'channels': {
      const names = credentialsOfChannels[String(thing['type'])];
      return names === undefined
        ? {}
        : { credentials: Object.fromEntries(names.map((name) => [name, variable('channel', name)])) };
    }
    case 'endpoints':
      return senderSchemes.includes(String(thing['scheme']))
        ? { secret: variable('endpoint', 'secret') }
        : {};
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
    return value === null ? [] : [[name, value]];
  });
  return Object.fromEntries(members);
}

function textOf(lists: Record<string, Members[]>, leftOut: readonly string[]): string {
  const document = new Document(lists);
  const comments = [
    ' Written by gatehouse export. Credentials are variables of the environment.',
    ...(leftOut.length === 0 ? [] : [' Left out, because several have the name:']),
    ...leftOut.map((name) => `   ${name}`),
  ];
  document.commentBefore = comments.join('\n');
  return document.toString({ lineWidth: 0 });
}
