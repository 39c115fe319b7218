import type { OldRows } from '@gatehouse/pg/clean-up-store';
import type { Pool } from '@gatehouse/pg/pool';
import type { Ref } from '../shared/ref.ts';

/** Prolongs this process's claims. `pool` acts as `webhook_system`. */
export async function prolongClaims(pool: Pool, claimIds: readonly string[], seconds: number): Promise<void> {
  await pool.query(
    `update webhook.calls set claimed_until = now() + make_interval(secs => $2)
     where claim_id = any ($1) and status = 'running'`,
    [claimIds, seconds],
  );
}

export const expiredCalls: OldRows = {
  table: 'webhook.calls',
  where: 'expires_at <= now()',
  order: 'expires_at',
};

/** Up to `limit` long overdue calls of any tenant: the last attempt for them was lost. */
export function findLostCalls(pool: Pool, limit: number): Promise<Ref[]> {
  return pool.all(
    `select tenant_id as "tenantId", id from webhook.calls
     where status = 'queued' and created_at < now() - interval '2 days' limit $1`,
    [limit],
  );
}
