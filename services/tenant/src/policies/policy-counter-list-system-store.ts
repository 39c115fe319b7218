import { inTenantOrder, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { groupJoin } from '../limits/counted-policy-store.ts';
import { setResources } from '../limits/leases.ts';
import { findHeld } from '../limits/limit-store.ts';
import type { CounterPage, CountersOf, ListedCounter } from './listed-counter.ts';
import { readUse } from './policy-use-system-store.ts';

interface StoredCounter extends Omit<ListedCounter, 'reserved' | 'limits'> {
  /** The value as the counter has it: the id of a group. */
  counted: string;
  userId: string | null;
  groups: string[];
  windowStart: number | null;
}

/** The budget of the override `o` in pico-USD; null for no limit. */
const overriddenBudget = `round((o.amounts ->> 'budget_usd')::numeric * 1e12)`;
/** Whether an override sets a budget and is in force. Its value has another collation than names of groups. */
const setsBudget = `amounts ? 'budget_usd' and (until is null or until > clock_timestamp())`;

/** Lists of counters. `pool` acts as `tenant_system`, which sees the overrides of the owner's policies. */
export class PolicyCounterListSystemStore extends Store {
  /**
   * The counters of a policy with the most spent, or with the least remaining, first: one more than `limit` if there
   * are more. Reads all counters of the policy.
   */
  async list({ tenantId, policy }: CountersOf, page: CounterPage): Promise<ListedCounter[]> {
    // Those of all tenants wait for each other.
    return inTenantOrder(this.pool, tenantId ?? policy.id, async (db) => {
      const { q, sort, after, limit } = page;
      const rows = await db.all<StoredCounter>(
        `with policy as materialized (
           select per, tenant_id, date_trunc('milliseconds', counts_since) as counts_since, budget is not null as has_budget,
             round((budget ->> 'usd')::numeric * 1e12) as amount
           from tenant.policies where id = $2
         ), has_group_overrides as materialized (
           select (select per from policy) = 'user' and exists (
             select from tenant.policy_overrides where policy_id = $2 and starts_with(value, 'group:')) as it
         ), live as materialized (
           select distinct on (c.id) c.id, c.tenant_id, c.value as counted, coalesce(counted.name, c.value) as value,
             coalesce(counted.folded collate "default", c.value) as overridden, c.user_id,
             case when p.has_budget then greatest(0, c.used) end as used, p.amount,
             case when p.has_budget then c.window_start end as starts_at,
             case when p.has_budget then c.window_end end as ends_at
           from policy p join tenant.policy_counters c on (c.resource = 'budget') = p.has_budget
           ${groupJoin('c')}
           where c.policy_id = $2 and ($1::uuid is null or c.tenant_id = $1)
             and ($3::text is null or starts_with(lower(coalesce(counted.name, c.value)), lower($3)))
             and (not p.has_budget or c.window_start >= p.counts_since
               and (c.window_end is null or c.window_end > clock_timestamp()))
           order by c.id, c.window_start desc
         ), limited as (
           select l.id, l.tenant_id, l.counted, l.value, l.user_id, l.used, l.starts_at, l.ends_at,
             case when o.amounts is not null then ${overriddenBudget} when g.overrides > 0 then g.amount
               else l.amount end as most
           from live l left join lateral (
             select amounts from tenant.policy_overrides
             where policy_id = $2 and value = l.overridden and ${setsBudget} limit 1
           ) as o on true left join lateral (
             select count(*) as overrides,
               case when bool_or(${overriddenBudget} is null) then null else max(${overriddenBudget}) end as amount
             from tenant.user_names n
             join tenant.group_members m on m.person_id = n.person_id
             join tenant.groups g on g.id = m.group_id
             join tenant.policy_overrides o on o.policy_id = $2 and o.value = 'group:' || g.folded collate "default" and ${setsBudget}
             where (select it from has_group_overrides) and n.tenant_id = l.tenant_id
               and n.folded = lower(l.user_id)
           ) as g on true
         ), keyed as (
           select id, tenant_id, counted, value, user_id, used, most, starts_at, ends_at,
             coalesce(case $4 when 'spent' then used else used - most end, '-Infinity') as key
           from limited
         )
         select k.id, k.tenant_id as "tenantId", t.slug as "tenantSlug", t.name as "tenantName",
           k.counted, k.value, k.user_id as "userId", k.used::text, k.most::text as budget, k.key::text,
           k.ends_at as "resetsAt", floor(extract(epoch from k.starts_at) * 1000)::float8 as "windowStart",
           array(
             select m.group_id from tenant.user_names n join tenant.group_members m on m.person_id = n.person_id
             where n.tenant_id = k.tenant_id and n.folded = lower(k.user_id)) as groups
         from keyed k cross join lateral (select slug, name from tenant.tenants where id = k.tenant_id limit 1) as t
         where $5::numeric is null or (k.key, k.id) < ($5::numeric, $6::uuid)
         order by k.key desc, k.id desc limit $7`,
        [tenantId, policy.id, q, sort, after?.key ?? null, after?.id ?? null, limit + 1],
      );
      const uses = new Map<string, CounterUse>();
      for (const [id, tenantRows] of Map.groupBy(rows, (row) => row.tenantId))
        for (const [counterId, use] of await usesOf(db, id, { policy, rows: tenantRows }))
          uses.set(counterId, use);
      return rows.map((row) => ({ ...row, ...(uses.get(row.id) ?? noUse) }));
    });
  }
}

type CounterUse = Pick<ListedCounter, 'reserved' | 'limits'>;

const noUse: CounterUse = { reserved: 0n, limits: [] };

/** The reservations and limits of counters of one tenant, by their ids. */
async function usesOf(
  db: Queryable,
  tenantId: string,
  { policy, rows }: Pick<CountersOf, 'policy'> & { rows: readonly StoredCounter[] },
): Promise<Map<string, CounterUse>> {
  const limits = await readUse(
    db,
    tenantId,
    rows.flatMap((row) => asksOf(policy, row)),
  );
  const limitsByCounter = Map.groupBy(limits, ({ subjectId }) => subjectId);
  const held = await findHeld(db, tenantId, { subjectIds: rows.map(({ id }) => id), exceptHolder: null });
  return new Map(
    rows.map(({ id, windowStart }) => {
      const holds = held.filter(
        (hold) => hold.subjectId === id && hold.resource === 'budget' && hold.windowStart === windowStart,
      );
      const reserved = holds.reduce((sum, { inUse }) => sum + inUse, 0n);
      return [id, { reserved, limits: limitsByCounter.get(id) ?? [] }];
    }),
  );
}

function asksOf({ id: policyId, name, per }: CountersOf['policy'], row: StoredCounter) {
  const { id, counted, value: label, userId, groups } = row;
  const counter = { policyId, value: counted, userId, groups, apiKeyId: null };
  return setResources
    .filter((resource) => resource !== 'budget')
    .map((resource) => ({ subjectId: id, resource, counter, policy: { name, per }, label }));
}
