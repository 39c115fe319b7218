import { createHash } from 'node:crypto';

/** Items of a response by which it is found at most: the newest. Older ones were new in an earlier response. */
const maxKeys = 256;

/** The key by which an item of a tenant is found. Two items may share one. */
export function itemKey(itemId: string, userId: string | null): bigint {
  return createHash('sha256')
    .update(JSON.stringify([userId, itemId]))
    .digest()
    .readBigInt64BE();
}

/** The keys of the newest items. `itemIds`: the oldest first. */
export function newestKeys(itemIds: readonly string[], userId: string | null): bigint[] {
  const newest = [...new Set(itemIds.toReversed())].slice(0, maxKeys);
  return [...new Set(newest.map((id) => itemKey(id, userId)))];
}
