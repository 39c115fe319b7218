import type { Pool } from '@gatehouse/pg/pool';

/** Deletes up to `limit` expired completions and returns their number. */
export async function deleteExpiredCompletions(pool: Pool, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    // The condition is repeated, because a row may be taken over while this waits for its lock.
    `delete from chat.completions where expires_at <= now() and claim_id = any (array(
       select claim_id from chat.completions where expires_at <= now() order by expires_at limit $1))`,
    [limit],
  );
  return rowCount ?? 0;
}
