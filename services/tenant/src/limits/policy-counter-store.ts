import type { Queryable } from '@gatehouse/pg/pool';
import type { CountedPolicies } from './counted-policy-store.ts';
import { milliseconds, type HeldRow, type Limited } from './limit-store.ts';
import { isHeld, limitName, type SetResource, type Window } from './leases.ts';
import {
  counterWindow,
  isDueToMove,
  removableAt,
  type PolicyCounter,
  type CounterRow,
} from './policy-counters.ts';

/** An ask for a resource of a counter. `subjectId`: the id of the counter. */
export interface CounterAsk {
  subjectId: string;
  resource: SetResource;
  counter: PolicyCounter;
}

interface StoredRow {
  id: string;
  resource: SetResource;
  start: number;
  end: number | null;
  used: string;
  publishedPercent: number;
  removableAt: number | null;
}

/** The newest rows of counters. The lock blocks other writers; rows are locked in a fixed order. */
export async function findCounterRows(
  db: Queryable,
  tenantId: string,
  asks: readonly Pick<CounterAsk, 'subjectId' | 'resource'>[],
  lock: 'for update' | '' = '',
): Promise<CounterRow[]> {
  if (asks.length === 0) return [];
  const sorted = inOrder(asks);
  const rows = await db.all<StoredRow>({
    name: lock === '' ? 'find_counter_rows' : 'lock_counter_rows',
    text: `select c.id, c.resource, c.start, c."end", c.used, c."publishedPercent", c."removableAt"
     from unnest($1::uuid[], $2::text[]) with ordinality as a (id, resource, number) cross join lateral (
       select id, resource, ${milliseconds('window_start')} as start, ${milliseconds('window_end')} as "end",
              used::text, published_percent as "publishedPercent",
              case when isfinite(removable_at) then ${milliseconds('removable_at')} end as "removableAt"
       from tenant.policy_counters where id = a.id and resource = a.resource and tenant_id = $3
       order by window_start desc limit 1 ${lock}
     ) as c order by a.number`,
    values: [sorted.map(({ subjectId }) => subjectId), sorted.map(({ resource }) => resource), tenantId],
  });
  return rows.map(({ start, end, used, removableAt: removal, ...row }) => ({
    ...row,
    window: { start, end },
    used: BigInt(used),
    removableAt: removal ?? Infinity,
  }));
}

/** In the order in which rows are locked. */
export function inOrder<Ask extends Pick<CounterAsk, 'subjectId' | 'resource'>>(asks: readonly Ask[]): Ask[] {
  return asks.toSorted((a, b) => (limitName(a) < limitName(b) ? -1 : 1));
}

/** Rows by the names of their counters and resources. */
export function byCounter(rows: readonly CounterRow[]): ReadonlyMap<string, CounterRow> {
  return new Map(rows.map((row) => [limitName({ subjectId: row.id, resource: row.resource }), row]));
}

/** Null for no end. */
export function finite(time: number): number | null {
  return Number.isFinite(time) ? time : null;
}

/** A counter's resource with its limit. */
export interface LimitedCounter extends Limited {
  /** Null where the tenant or the key has too many counters to open it. */
  row: CounterRow | null;
  removableAt: number;
}

/** The limited resources of counters, from locked rows; null where a window has to be opened first. */
export function readCounters({
  asks,
  rows,
  held,
  full,
  counted: { policies, calendar },
}: {
  asks: readonly CounterAsk[];
  rows: readonly CounterRow[];
  held: readonly HeldRow[];
  full: ReadonlySet<string>;
  counted: CountedPolicies;
}): LimitedCounter[] | null {
  const rowOf = byCounter(rows);
  const heldBy = Map.groupBy(held, limitName);
  const counters: LimitedCounter[] = [];
  for (const ask of asks) {
    const { subjectId, resource } = ask;
    const policy = policies.get(subjectId);
    const limit = policy?.limits[resource] ?? null;
    if (policy === undefined || limit === null) continue;
    const row = rowOf.get(limitName(ask)) ?? null;
    const { window, isNew } = counterWindow(policy, { resource, calendar, row });
    const isFull = row === null && full.has(subjectId);
    if (!isFull && (row === null || (isNew && resource === 'budget'))) return null;
    const holds = (heldBy.get(limitName(ask)) ?? []).filter(
      ({ windowStart }) => windowStart === window.start,
    );
    const used = isNew || row === null || row.used < 0n ? 0n : row.used;
    counters.push({
      ...{ subjectId, resource, row, period: null, counted: isNew ? 'zero' : 'kept' },
      limitUse: {
        ...{ limit: isFull ? 0n : limit, window, name: window.start, used },
        othersHold: holds.reduce((sum, { amount }) => sum + amount, 0n),
        inUse: holds.reduce((sum, { inUse }) => sum + inUse, 0n),
      },
      chargesOnly: resource === 'budget' && policy.chargesOnly && !isFull,
      publishedPercent: isNew || row === null ? 0 : row.publishedPercent,
      removableAt: removableAt(policy, { resource, window, now: calendar.now }),
    });
  }
  return counters;
}

/** A row with what a lease makes of it. */
export interface CounterLease {
  row: CounterRow;
  window: Window;
  used: bigint;
  removableAt: number;
}

/** Stores changes by leases. Those of budgets and slots are holds, and change the time of a row's removal alone. */
export async function updateCounters(db: Queryable, leases: readonly CounterLease[]): Promise<void> {
  const changed = leases.filter(
    ({ row, window, used, removableAt: removal }) =>
      (!isHeld(row.resource) && (row.used !== used || row.window.start !== window.start)) ||
      isDueToMove(row.removableAt, removal),
  );
  if (changed.length === 0) return;
  await db.query({
    name: 'update_counters',
    text: `update tenant.policy_counters c set used = case when l.held then c.used else l.used end,
       window_start = to_timestamp(l.starts_at / 1000), window_end = to_timestamp(l.ends_at / 1000),
       removable_at = greatest(c.removable_at, coalesce(to_timestamp(l.removable_at / 1000), 'infinity'))
     from unnest($1::uuid[], $2::text[], $3::float8[], $4::numeric[], $5::float8[], $6::float8[], $7::float8[],
                 $8::boolean[])
       as l (id, resource, old_start, used, starts_at, ends_at, removable_at, held)
     where c.id = l.id and c.resource = l.resource and c.window_start = to_timestamp(l.old_start / 1000)
       and c.id = any ($1::uuid[])`,
    values: [
      changed.map(({ row }) => row.id),
      changed.map(({ row }) => row.resource),
      changed.map(({ row }) => row.window.start),
      changed.map(({ used }) => used.toString()),
      changed.map(({ window }) => window.start),
      changed.map(({ window }) => window.end),
      changed.map(({ row, removableAt: removal }) =>
        finite(isDueToMove(row.removableAt, removal) ? removal : row.removableAt),
      ),
      changed.map(({ row }) => isHeld(row.resource)),
    ],
  });
}

/** Locks the budgets of counters in all their windows, in the order in which rows are locked. Returns those with one. */
export async function lockBudgets(
  db: Queryable,
  tenantId: string,
  counterIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ id: string }>({
    name: 'lock_budgets',
    text: `select id from tenant.policy_counters where id = any ($1::uuid[]) and resource = 'budget' and tenant_id = $2
     order by id, window_start for update`,
    values: [counterIds, tenantId],
  });
  return new Set(rows.map(({ id }) => id));
}

/** Lowers budgets of sessions to the amounts of these asks. The rows are locked. */
export async function lowerSessionBudgets(db: Queryable, asks: readonly CounterAsk[]): Promise<void> {
  const budgets = asks.flatMap(({ subjectId: id, counter: { sessionBudget } }) =>
    sessionBudget === undefined ? [] : [{ id, sessionBudget }],
  );
  if (budgets.length === 0) return;
  await db.query(
    `update tenant.policy_counters c set session_budget = b.amount
     from unnest($1::uuid[], $2::numeric[]) as b (id, amount)
     where c.id = b.id and c.resource = 'budget' and c.session_budget > b.amount and c.id = any ($1::uuid[])`,
    [budgets.map(({ id }) => id), budgets.map(({ sessionBudget }) => sessionBudget.toString())],
  );
}

/** Charges costs to budgets of counters, each in the window of its reservation. One removed meanwhile counts nothing. */
export async function chargeCounters(
  db: Queryable,
  tenantId: string,
  charges: readonly { subjectId: string; windowStart: number; costPico: bigint }[],
): Promise<void> {
  if (charges.length === 0) return;
  await db.query({
    name: 'charge_counters',
    text: `with charges as (
       select id, to_timestamp(window_start / 1000) as window_start, sum(cost) as cost
       from unnest($2::uuid[], $3::float8[], $4::numeric[]) as c (id, window_start, cost)
       group by id, window_start
     )
     insert into tenant.policy_counters as p
       (tenant_id, id, policy_id, value, resource, window_start, used, removable_at)
     select $1, c.id, r.policy_id, r.value, 'budget', c.window_start, c.cost, r.removable_at
     from charges c cross join lateral (
       select policy_id, value, removable_at from tenant.policy_counters
       where id = c.id and resource = 'budget' and window_start = c.window_start and tenant_id = $1 limit 1
     ) r order by c.id, c.window_start
     on conflict (id, resource, window_start) do update set used = p.used + excluded.used`,
    values: [
      tenantId,
      charges.map(({ subjectId }) => subjectId),
      charges.map(({ windowStart }) => windowStart),
      charges.map(({ costPico }) => costPico.toString()),
    ],
  });
}

const forgottenAtOnce = 1_000;

/**
 * Replaces a user in the values of counters, which go on counting, by their ids, which are digests. A user may have as many
 * as the tenant; rows are locked in their order.
 */
export async function forgetCounterUser(
  db: Queryable,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<void> {
  for (let forgotten = 1; forgotten > 0;) {
    const { rowCount } = await db.query(
      `update tenant.policy_counters c set value = c.id::text, user_id = null
       from (
         select id, resource, window_start from tenant.policy_counters where tenant_id = $1 and user_id = $2
         order by id, resource, window_start limit $3 for update
       ) as l
       where c.id = l.id and c.resource = l.resource and c.window_start = l.window_start and c.tenant_id = $1`,
      [tenantId, userId, forgottenAtOnce],
    );
    forgotten = rowCount ?? 0;
  }
}
