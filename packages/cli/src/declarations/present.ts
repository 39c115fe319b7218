import { ApiError, type ApiClient } from '../api-client.ts';
import type { Declaration, Declared } from './declared.ts';
import type { Members } from './members.ts';
import { isMembers } from './members.ts';
import { kinds, type Kind } from './kinds.ts';
import { usersOf } from './policy-users.ts';

const ambiguous = Symbol('several have this name');

/** The existing things, by kind and identity. */
export type Present = ReadonlyMap<Kind, ReadonlyMap<string, ExistingResource>>;

type ExistingResource = Members & { [ambiguous]?: true };

/** Whether several things have this one's name. */
export function isAmbiguous(thing: ExistingResource): boolean {
  return thing[ambiguous] === true;
}

/** Asks for all things of the declared kinds, and of those named by these. */
export async function readPresent(
  client: ApiClient,
  declared: Declared,
  { prune }: { prune: boolean },
): Promise<Present> {
  const present = new Map<Kind, Map<string, ExistingResource>>();
  const declarationsOf = (...names: string[]): readonly Declaration[] =>
    kinds.flatMap((kind) => (names.includes(kind.name) ? (declared.get(kind) ?? []) : []));
  const namesChannels = declarationsOf('endpoints').some(
    ({ members: { deliver_to: deliverTo } }) => isMembers(deliverTo) && 'channel' in deliverTo,
  );
  const isNeeded: Partial<Record<Kind['name'], boolean>> = {
    agents:
      prune ||
      declarationsOf('channels', 'endpoints').length > 0 ||
      declarationsOf('policies').some(({ members: { per } }) => per === 'agent'),
    channels: prune || namesChannels,
    endpoints: prune,
  };
  for (const kind of kinds) {
    const declarations = declarationsOf(kind.name);
    if (declarations.length === 0 && isNeeded[kind.name] !== true) continue;
    const things = kind.isPut ? byDeclaredName(client, kind, declarations) : allOf(client, kind);
    present.set(
      kind,
      await things.catch((error: unknown) => {
        throw error instanceof ApiError ? kindRefusal(kind, error) : error;
      }),
    );
  }
  for (const kind of ['policies', 'guardrails'])
    await addSelectedUsers(client, { kind, declarations: declarationsOf(kind) }, present);
  return present;
}

/** Adds the users named by declared policies or guardrails otherwise than the gateway names them. */
async function addSelectedUsers(
  client: ApiClient,
  { kind: selecting, declarations }: { kind: Kind['name']; declarations: readonly Declaration[] },
  present: Map<Kind, Map<string, ExistingResource>>,
): Promise<void> {
  const kind = kinds.find(({ name }) => name === 'users');
  const existing = [...present].find(([{ name }]) => name === selecting)?.[1];
  if (kind === undefined || existing === undefined) return;
  const names = declarations.flatMap(({ members }) => {
    const thing = existing.get(String(members['name']));
    if (thing === undefined) return [];
    const known = new Set(usersOf(thing));
    return usersOf({ per: thing['per'], ...members }).filter((name) => !known.has(name));
  });
  const users = present.get(kind) ?? new Map<string, ExistingResource>();
  for (const name of new Set(names)) {
    const user = users.has(name) ? null : await userNamed(client, kind, name);
    if (user !== null) users.set(name, user);
  }
  present.set(kind, users);
}

/** Null outside the directory, and for a key without its scope. */
async function userNamed(client: ApiClient, kind: Kind, name: string): Promise<Members | null> {
  return itemNamed(client, kind, name).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'scope_missing') return null;
    throw error;
  });
}

/** A refusal to show things, with their kind. */
function kindRefusal({ name }: Kind, { status, code, message, param, requestId }: ApiError): ApiError {
  return new ApiError({ status, code, message: `${name} can't be read. ${message}`, param, requestId });
}

async function allOf(client: ApiClient, kind: Kind): Promise<Map<string, ExistingResource>> {
  return byIdentity(kind, await client.all<Members>({ method: 'GET', path: `${kind.path}?limit=200` }));
}

/** The declared things alone, each by the name of its declaration. */
async function byDeclaredName(
  client: ApiClient,
  kind: Kind,
  declarations: readonly Declaration[],
): Promise<Map<string, ExistingResource>> {
  const things = new Map<string, ExistingResource>();
  for (const { members } of declarations) {
    const name = String(members[kind.identity]);
    const thing = await itemNamed(client, kind, name);
    if (thing !== null) things.set(name, thing);
  }
  return things;
}

async function itemNamed(client: ApiClient, { path }: Kind, name: string): Promise<Members | null> {
  const item = `${path}/${encodeURIComponent(name)}`;
  return client.json<Members>({ method: 'GET', path: item }).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  });
}

/** Whether it is a key no request can use any more. */
export function isRevoked(kind: Kind, thing: Members): boolean {
  return kind.name === 'api_keys' && ['revoked', 'expired'].includes(String(thing['status']));
}

/** Marks names shared by several things. Revoked and expired keys don't count. */
function byIdentity(kind: Kind, things: readonly Members[]): Map<string, ExistingResource> {
  const grouped = new Map<string, ExistingResource>();
  for (const thing of things) {
    if (isRevoked(kind, thing)) continue;
    const identity = String(thing[kind.identity]);
    if (grouped.has(identity)) grouped.set(identity, { ...thing, [ambiguous]: true });
    else grouped.set(identity, thing);
  }
  return grouped;
}
