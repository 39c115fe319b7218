import { maxRetentionDays } from '@gatehouse/contract/tenants';
import { monotonicMs } from '@gatehouse/kit/clock';
import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import { runAgeMarginMs } from '../bounds.ts';
import { beganAt, digestOf, forgottenSince } from '../shared/forgotten-user-store.ts';

/** A content as it is stored. */
export interface StoredContent {
  /** The id of the run. */
  id: string;
  tenantId: string;
  userId: string | null;
  /** Compressed, then encrypted. */
  content: Buffer;
  /** The arrival of its request, by the monotonic clock. */
  arrivedAt: number;
}

/**
 * Stores contents, each once, and none of a user forgotten since the run began. They expire after the longest retention;
 * the current one of their tenant may end before.
 */
export async function insertContents(pool: Pool, contents: readonly StoredContent[]): Promise<void> {
  await withTransaction(pool, async (db) => {
    for (const { id, tenantId, userId, content, arrivedAt } of contents) {
      const ageMs = monotonicMs() - arrivedAt + runAgeMarginMs;
      await db.query(
        `insert into chat.run_contents (id, tenant_id, user_id, content, bytes, created_at, expires_at)
         select $1, $2, $3, $4, $5, ${beganAt('$7')}, ${beganAt('$7')} + make_interval(days => $8)
         where not ${forgottenSince('$2', '$6', '$7')}
         on conflict do nothing`,
        [id, tenantId, userId, content, content.length, digestOf(tenantId, userId), ageMs, maxRetentionDays],
      );
    }
  });
}
