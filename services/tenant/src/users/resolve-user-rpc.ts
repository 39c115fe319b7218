import { userId as userIdShape } from '@gatehouse/contract/fields';
import { isUuid } from '@gatehouse/kit/ids';
import type { Rpc } from '@gatehouse/grpc/rpc';
import type { ResolveUserRequest, ResolveUserResponse } from '@gatehouse/proto/tenant/v1/tenant';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { foldedName, hashedNames } from './user.ts';
import type { NameForm, ResolvedUser } from './user-system-store.ts';

export interface ResolveUserDependencies {
  /** One statement for all names wanted meanwhile. */
  resolve: (form: NameForm) => Promise<ResolvedUser | null>;
  keyRing: KeyRing;
  noteSeen: (id: string) => void;
}

/** `ResolveUser`: the user with a name; without one, the block of a deleted user with it. */
export function resolveUser({
  resolve,
  keyRing,
  noteSeen,
}: ResolveUserDependencies): Rpc<ResolveUserRequest, ResolveUserResponse> {
  const find = async (tenantId: string, folded: string): Promise<ResolvedUser | null> => {
    const user = await resolve({ tenantId, folded });
    if (user !== null) return user;
    const hashes = hashedNames(keyRing, tenantId, folded);
    const blocks = await Promise.all(hashes.map((hash) => resolve({ tenantId, folded: hash })));
    return blocks.find((block) => block !== null) ?? null;
  };
  return {
    callers: ['agent', 'chat', 'edge', 'memory', 'webhook'],
    handle: async ({ tenantId, name }) => {
      const isName = userIdShape.safeParse(name).success && isUuid(tenantId);
      const user = isName ? await find(tenantId.toLowerCase(), foldedName(name)) : null;
      if (user === null) return { user: undefined };
      const { id, userId, isBlocked, groups, lastSeenIsStale } = user;
      if (lastSeenIsStale && userId !== null) noteSeen(id);
      return { user: { id, userId: userId ?? name, blocked: isBlocked, groups: [...groups] } };
    },
  };
}
