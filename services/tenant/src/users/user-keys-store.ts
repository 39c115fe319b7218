import type { Change } from '@gatehouse/audited-changes/audit-entry';
import type { Queryable } from '@gatehouse/pg/pool';
import { revokeApiKey } from '../keys/api-key-store.ts';
import { keyRevoked } from '../keys/key-views.ts';
import { keysOf } from './user-store.ts';

/** Revokes the keys that are bound to a user, by its folded names. */
export async function revokeKeysOf(
  db: Queryable,
  tenantId: string,
  names: readonly string[],
): Promise<Change[]> {
  const revoked: Change[] = [];
  for (const id of await keysOf(db, tenantId, names)) {
    const changed = await revokeApiKey(db, id);
    revoked.push(...(changed === null ? [] : keyRevoked(changed)));
  }
  return revoked;
}
