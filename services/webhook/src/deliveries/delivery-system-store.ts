import type { Pool } from '@gatehouse/pg/pool';
import type { OriginTarget } from './delivery.ts';

const lookedAtTargets = 10_000;

/**
 * Up to `limit` targets of any tenant with due deliveries not taken by any process, in no order: the backlog of one
 * keeps no other from being found. Looks at 10,000 targets with deliveries to come.
 */
export function findOverdueTargets(pool: Pool, limit: number): Promise<OriginTarget[]> {
  return pool.all(
    `with recursive targets as (
       (select tenant_id, target from webhook.deliveries where status = 'pending' order by tenant_id, target limit 1)
       union all
       select next.tenant_id, next.target from targets cross join lateral (
         select d.tenant_id, d.target from webhook.deliveries as d
         where d.status = 'pending' and (d.tenant_id, d.target) > (targets.tenant_id, targets.target)
         order by d.tenant_id, d.target limit 1) as next),
     known as (select tenant_id, target from targets limit ${lookedAtTargets})
     select tenant_id as "tenantId", target from known
     where exists (
       select from webhook.deliveries as d
       where d.tenant_id = known.tenant_id and d.target = known.target and d.status = 'pending'
         and d.due_at < now() - interval '30 seconds' and (d.claimed_until is null or d.claimed_until < now()))
     order by random() limit $1`,
    [limit],
  );
}
