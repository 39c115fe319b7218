import type { Pool } from '@gatehouse/pg/pool';

/** Prolongs claims that this process holds. `pool` acts as `webhook_system`. */
export async function prolongClaims(pool: Pool, claimIds: readonly string[], seconds: number): Promise<void> {
  await pool.query(
    `update webhook.calls set claimed_until = now() + make_interval(secs => $2)
     where claim_id = any ($1) and status = 'running'`,
    [claimIds, seconds],
  );
}

/** Deletes up to `limit` calls whose time is over; returns how many. */
export async function deleteExpiredCalls(pool: Pool, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from webhook.calls where expires_at <= now() and id = any (array(
       select id from webhook.calls where expires_at <= now() order by expires_at limit $1))`,
    [limit],
  );
  return rowCount ?? 0;
}

/** Up to `limit` calls of any tenant that should have ended long ago: the last attempt for them was lost. */
export async function findLostCalls(pool: Pool, limit: number): Promise<{ tenantId: string; id: string }[]> {
  const { rows } = await pool.query<{ tenantId: string; id: string }>(
    `select tenant_id as "tenantId", id from webhook.calls
     where status = 'queued' and created_at < now() - interval '2 days' limit $1`,
    [limit],
  );
  return rows;
}
