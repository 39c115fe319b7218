import { ApiError, type ApiClient } from '../api-client.ts';
import type { Declaration, Declared, Members } from './declared.ts';
import { isMembers } from './differences.ts';
import { kinds, type Kind } from './kinds.ts';

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
    agents: prune || declarationsOf('channels', 'endpoints').length > 0,
    channels: prune || namesChannels,
    endpoints: prune,
  };
  for (const kind of kinds) {
    const declarations = declarationsOf(kind.name);
    if (declarations.length === 0 && isNeeded[kind.name] !== true) continue;
    if (kind.isPut) {
      present.set(kind, await byDeclaredName(client, kind, declarations));
      continue;
    }
    const resources = await client.all<Members>({ method: 'GET', path: `${kind.path}?limit=200` });
    present.set(kind, byIdentity(kind, resources));
  }
  return present;
}

/** The declared things alone, each by the name of its declaration. */
async function byDeclaredName(
  client: ApiClient,
  { path, identity }: Kind,
  declarations: readonly Declaration[],
): Promise<Map<string, ExistingResource>> {
  const things = new Map<string, ExistingResource>();
  for (const { members } of declarations) {
    const name = String(members[identity]);
    const item = `${path}/${encodeURIComponent(name)}`;
    const thing = await client.json<Members>({ method: 'GET', path: item }).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    });
    if (thing !== null) things.set(name, thing);
  }
  return things;
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
