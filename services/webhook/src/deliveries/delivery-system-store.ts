import type { Pool } from '@gatehouse/pg/pool';
import type { OriginTarget } from './delivery.ts';

/** Up to `limit` targets of any tenant with due deliveries not taken by any process. */
export function findOverdueTargets(pool: Pool, limit: number): Promise<OriginTarget[]> {
  return pool.all(
    `select distinct tenant_id as "tenantId", target from (
      select tenant_id, target from webhook.deliveries
      where status = 'pending' and due_at < now() - interval '30 seconds'
        and (claimed_until is null or claimed_until < now())
      order by due_at limit $1) as overdue`,
    [limit],
  );
}
