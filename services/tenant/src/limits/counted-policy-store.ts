import type { PolicyBudget, PolicyLimits } from '@gatehouse/contract/policies';
import { maxPico } from '@gatehouse/kit/money';
import { sessionBudgetPolicyId } from '@gatehouse/kit/session-budget';
import type { Queryable } from '@gatehouse/pg/pool';
import { calendarExpressions, calendarOf, type CalendarRow } from './calendar-store.ts';
import { milliseconds } from './limit-store.ts';
import { amountsOf, type OverrideAmounts } from './policy-amounts.ts';
import type { Calendar, CountedPolicy, PolicyCounter } from './policy-counters.ts';

interface PolicyRow {
  id: string;
  per: string | null;
  limits: PolicyLimits;
  budget: PolicyBudget | null;
  enforce: boolean;
  countsSince: number;
  valueOverride: OverrideAmounts | null;
  groupOverrides: OverrideAmounts[];
  /** The budget of a session in pico-USD; null for a policy, and for a session without a budget. */
  sessionBudget: string | null;
  /** The same in each row. */
  calendar: CalendarRow[];
}

/** Joins the group `counted` of a counter, by the id in its value. `p`: the policy. */
export function groupJoin(counter: string): string {
  return `left join lateral (
       select name, folded from tenant.groups
       where p.per = 'group' and tenant_id = p.tenant_id
         and id = case when ${counter}.value ~ '^[0-9a-f-]{36}$' then ${counter}.value::uuid end limit 1
     ) as counted on true`;
}

/** Joins the group as well, and the override `o` in force for the value of a counter. */
export function overrideJoin(counter: string): string {
  return `${groupJoin(counter)} left join lateral (
       select amounts from tenant.policy_overrides
       where policy_id = ${counter}.policy_id and value = coalesce(counted.folded collate "default", ${counter}.value)
         and (until is null or until > clock_timestamp())
     ) as o on true`;
}

/** Policies by the ids of their counters, and the current windows. */
export interface CountedPolicies {
  policies: ReadonlyMap<string, CountedPolicy>;
  calendar: Calendar;
}

/**
 * The enabled policies of a tenant's counters, by the ids of the counters, and the current windows. The budget of a
 * session, which has no stored policy, counts since it was set.
 */
export async function findCountedPolicies(
  db: Queryable,
  tenantId: string,
  asks: readonly { subjectId: string; counter: PolicyCounter }[],
): Promise<CountedPolicies> {
  if (asks.length === 0) return { policies: new Map(), calendar: calendarOf([]) };
  const counters = [...new Map(asks.map(({ subjectId, counter }) => [subjectId, counter]))];
  const rows = await db.all<PolicyRow>({
    name: 'find_counted_policies',
    text: `with ${calendarExpressions('clock_timestamp()')},
     shown as materialized (select jsonb_agg(calendar) as calendar from calendar)
     select a.id, p.per, p.limits, p.budget, p.enforce, ${milliseconds('p.counts_since')} as "countsSince",
            p.session_budget::text as "sessionBudget", o.amounts as "valueOverride", coalesce(g.amounts, '[]') as "groupOverrides", (select calendar from shown) as calendar
     from unnest($2::uuid[], $3::uuid[], $4::text[], $5::jsonb[], $6::numeric[])
       as a (id, policy_id, value, groups, session_budget)
     cross join lateral (
       select tenant_id, per, limits, budget, enforce, counts_since, null::numeric as session_budget
       from tenant.policies
       where id = a.policy_id and enabled
         and (tenant_id = $1 or tenant_id is null and (tenants is null or $1 = any (tenants)))
       union all
       select null, 'session', '{}', null, true, coalesce(c.window_start, clock_timestamp()),
              least(a.session_budget, c.session_budget)
       from (select) as once left join lateral (
         select window_start, session_budget from tenant.policy_counters
         where id = a.id and resource = 'budget' and tenant_id = $1 order by window_start desc limit 1
       ) as c on true
       where a.policy_id = $7
       limit 1
     ) as p ${overrideJoin('a')} left join lateral (
       select jsonb_agg(amounts) as amounts from tenant.policy_overrides
       where policy_id = a.policy_id and (until is null or until > clock_timestamp()) and p.per = 'user'
         and value = any (array (
           select 'group:' || named.folded collate "default" from jsonb_array_elements_text(a.groups) as member (group_id)
           cross join lateral (
             select folded from tenant.groups where id = member.group_id::uuid and tenant_id = $1 limit 1) as named))
     ) as g on true`,
    values: [
      tenantId,
      counters.map(([id]) => id),
      counters.map(([, { policyId }]) => policyId),
      counters.map(([, { value }]) => value),
      counters.map(([, { groups }]) => JSON.stringify(groups)),
      counters.map(([, { sessionBudget }]) => sessionBudget?.toString()),
      sessionBudgetPolicyId,
    ],
  });
  const policies = new Map(
    rows.map(
      ({
        id,
        per,
        countsSince,
        sessionBudget,
        enforce,
        calendar: _,
        ...amounts
      }): [string, CountedPolicy] => {
        const limits = amountsOf(amounts);
        const chargesOnly = amounts.budget !== null && (!enforce || limits.budget === null);
        const budget = sessionBudget === null ? limits.budget : BigInt(sessionBudget);
        return [
          id,
          {
            ...{ limits: { ...limits, budget: chargesOnly ? maxPico : budget }, chargesOnly },
            ...{ period: amounts.budget?.period ?? 'total', isPerSession: per === 'session', countsSince },
          },
        ];
      },
    ),
  );
  return { policies, calendar: calendarOf(rows[0]?.calendar ?? []) };
}
