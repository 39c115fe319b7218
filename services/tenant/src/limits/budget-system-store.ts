import type { Budget } from '@gatehouse/contract/keys';
import type { TenantStatus } from '@gatehouse/contract/tenants';
import type { PageRows } from '@gatehouse/kit/page';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import { Store } from '@gatehouse/pg/store';

/** The budget of a tenant in its current window. */
export interface BudgetUse {
  id: string;
  slug: string;
  name: string;
  status: TenantStatus;
  budget: Budget;
  /** Pico-USD. */
  used: string;
  resetsAt: Date;
}

/**
 * The current windows of budgets. `used` of a row is the amount of its window alone: in another one, as after a change of the
 * period, the buckets of the window are added up, as leases do it.
 */
const uses = `(
  select t.id, t.slug, t.name, t.status, t.budget, w.ends_at as "resetsAt",
         case when q.starts_at = w.starts_at and q.ends_at = w.ends_at then q.used else (
           select greatest(coalesce(sum(cost), 0), 0) from tenant.budget_spend
           where subject_id = t.id and bucket >= w.starts_at and bucket < w.ends_at
         ) end as used
  from (select clock_timestamp() as now) as clock
  cross join tenant.tenants t
  cross join lateral (
    select tenant.timezone_or_utc(t.budget_timezone) as zone, ('1 ' || (t.budget ->> 'period'))::interval as length
  ) as z
  cross join lateral (
    select date_trunc(t.budget ->> 'period', clock.now at time zone z.zone) as day
  ) as p
  cross join lateral (
    select p.day at time zone z.zone as starts_at, (p.day + z.length) at time zone z.zone as ends_at
  ) as w
  left join tenant.limit_uses q on q.subject_id = t.id and q.resource = 'budget'
  where t.budget is not null and t.status <> 'archived' and ($1::uuid is null or t.id = $1)
) as budgets`;

/** Budgets of all tenants, for the routes of owners. `pool` acts as `tenant_system`. */
export class BudgetSystemStore extends Store {
  /** Those with the largest spent share first; a budget of 0 is spent. */
  list({ tenantId, limit }: { tenantId: string | null; limit: number }): Promise<PageRows<BudgetUse>> {
    return readPage<BudgetUse>(this.pool, {
      columns: `id, slug, name, status, budget, "resetsAt", used::text as used,
        used / nullif((budget ->> 'usd')::numeric, 0) as share`,
      from: uses,
      order: 'share desc nulls first, id desc',
      size: sizeOf('name'),
      limit,
      values: [tenantId],
    });
  }
}
