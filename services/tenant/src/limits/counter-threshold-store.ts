import type { PolicyBudget, PolicyLimits } from '@gatehouse/contract/policies';
import type { NewAlert } from '@gatehouse/events/alert-event';
import { newId } from '@gatehouse/kit/ids';
import { usdOf } from '@gatehouse/kit/money';
import { sessionBudgetName } from '@gatehouse/kit/session-budget';
import type { Queryable } from '@gatehouse/pg/pool';
import { overrideJoin } from './counted-policy-store.ts';
import { thresholds } from './leases.ts';
import { milliseconds } from './limit-store.ts';
import { amountsOf, type OverrideAmounts } from './policy-amounts.ts';

interface SpentCounter {
  id: string;
  policyId: string;
  policy: string;
  /** Null for a policy with one counter. */
  value: string | null;
  alerts: number[];
  limits: PolicyLimits;
  /** Null for the budget of a session. */
  budget: PolicyBudget | null;
  /** The budget of a session in pico-USD; null for a policy. */
  sessionBudget: string | null;
  valueOverride: OverrideAmounts | null;
  groupOverrides: OverrideAmounts[];
  windowStart: number;
  used: string;
  publishedPercent: number;
}

/**
 * The alerts for budgets of policies and sessions at their percentages, each once in a window, which are noted as
 * published. The groups of a user are the present ones: those of a settled run are not known. The caller has locked the
 * rows.
 */
export async function publishCounterThresholds(
  db: Queryable,
  tenantId: string,
  counterIds: readonly string[],
): Promise<NewAlert[]> {
  const counters = await db.all<SpentCounter>({
    name: 'find_spent_counters',
    text: `select c.id, c.policy_id as "policyId", p.name as policy, c.session_budget::text as "sessionBudget",
       case when p.per is not null then coalesce(counted.name, c.value) end as value, p.alerts, p.limits, p.budget,
       o.amounts as "valueOverride", coalesce(of_groups.amounts, '[]') as "groupOverrides", c.used::text,
       c.published_percent as "publishedPercent", ${milliseconds('c.window_start')} as "windowStart"
     from tenant.policy_counters c cross join lateral (
       select tenant_id, case when tenant_id is null then 'owner:' || name else name end as name, per, alerts, limits,
         budget, counts_since
       from tenant.policies where id = c.policy_id and budget is not null
       union all
       select null, $2, 'session', $3::smallint[], '{}', null, '-infinity' where c.session_budget is not null
       limit 1
     ) as p ${overrideJoin('c')} left join lateral (
       select jsonb_agg(amounts) as amounts from tenant.policy_overrides
       where policy_id = c.policy_id and (until is null or until > clock_timestamp()) and p.per = 'user'
         and value = any (array (
           select 'group:' || g.folded collate "default" from tenant.user_names n
           join tenant.group_members m on m.person_id = n.person_id
           join tenant.groups g on g.id = m.group_id
           where n.tenant_id = c.tenant_id and n.folded = lower(c.user_id)))
     ) as of_groups on true
     where c.id = any ($1::uuid[]) and c.resource = 'budget'
       and (c.window_end is null or c.window_end > clock_timestamp())
       and c.window_start >= date_trunc('milliseconds', p.counts_since)`,
    values: [counterIds, sessionBudgetName, thresholds],
  });
  const reached = counters.flatMap((counter) => {
    const { sessionBudget } = counter;
    const limit = sessionBudget === null ? amountsOf(counter).budget : BigInt(sessionBudget);
    const used = BigInt(counter.used);
    if (limit === null || limit <= 0n) return [];
    const percents = counter.alerts.filter(
      (percent) => percent > counter.publishedPercent && used * 100n >= limit * BigInt(percent),
    );
    return percents.length === 0 ? [] : [{ counter, percents, used, limit }];
  });
  if (reached.length === 0) return [];
  await db.query(
    `update tenant.policy_counters c set published_percent = r.percent
     from unnest($1::uuid[], $2::float8[], $3::smallint[]) as r (id, window_start, percent)
     where c.id = r.id and c.resource = 'budget' and c.window_start = to_timestamp(r.window_start / 1000)
       and c.id = any ($1::uuid[])`,
    [
      reached.map(({ counter }) => counter.id),
      reached.map(({ counter }) => counter.windowStart),
      reached.map(({ percents }) => Math.max(...percents)),
    ],
  );
  return reached.flatMap(({ counter, percents, used, limit }) =>
    percents.map((percent): NewAlert => ({
      ...{ id: newId(), tenant_id: tenantId, type: 'budget.threshold' },
      data: {
        ...{
          subject_type: 'policy',
          subject_id: counter.policyId,
          policy: counter.policy,
          value: counter.value,
        },
        ...{ percent, used_usd: usdOf(used), budget_usd: usdOf(limit) },
        window_start: new Date(counter.windowStart).toISOString(),
      },
    })),
  );
}
