import type { Pool } from '@gatehouse/pg/pool';
import type { OriginTarget } from './delivery.ts';

const lookedAtTargets = 10_000;

/**
 * Up to `limit` targets of any tenant with due deliveries not taken by any process, in turn from each tenant: no tenant
 * keeps those of others from being found. Looks at 10,000 targets with deliveries to come: the first of each
 * tenant, then the second, and so on.
 */
export function findOverdueTargets(pool: Pool, limit: number): Promise<OriginTarget[]> {
  return pool.all(
    `with recursive tenants as (
       (select tenant_id from webhook.deliveries where status = 'pending' order by tenant_id limit 1)
       union all
       select (select d.tenant_id from webhook.deliveries as d
         where d.status = 'pending' and d.tenant_id > tenants.tenant_id order by d.tenant_id limit 1)
       from tenants where tenants.tenant_id is not null),
     targets as (
       select tenants.tenant_id, first.target from tenants cross join lateral (
         select d.target from webhook.deliveries as d
         where d.status = 'pending' and d.tenant_id = tenants.tenant_id order by d.target limit 1) as first
       union all
       select targets.tenant_id, next.target from targets cross join lateral (
         select d.target from webhook.deliveries as d
         where d.status = 'pending' and d.tenant_id = targets.tenant_id and d.target > targets.target
         order by d.target limit 1) as next),
     known as (select tenant_id, target from targets limit ${lookedAtTargets})
     select tenant_id as "tenantId", target from known
     where exists (
       select from webhook.deliveries as d
       where d.tenant_id = known.tenant_id and d.target = known.target and d.status = 'pending'
         and d.due_at < now() - interval '30 seconds' and (d.claimed_until is null or d.claimed_until < now()))
     order by row_number() over (partition by tenant_id order by random()), random() limit $1`,
    [limit],
  );
}
