import { sessionBudgetPolicyId } from '@gatehouse/kit/session-budget';
import type { Queryable } from '@gatehouse/pg/pool';
import { maxCounters } from '../bounds.ts';
import { findCountedPolicies } from './counted-policy-store.ts';
import { limitName } from './leases.ts';
import { byCounter, findCounterRows, finite, inOrder, type CounterAsk } from './policy-counter-store.ts';
import {
  counterWindow,
  removableAt,
  settledWithinMs,
  type CounterRow,
  type PolicyCounter,
} from './policy-counters.ts';

/** New windows of counters, and new counters, as far as tenant and key may have more. */

/** A row to be counted in. */
interface NewRow {
  ask: CounterAsk;
  start: number;
  end: number | null;
  removableAt: number;
}

/**
 * Begins the windows without a row. Returns the ids of counters not opened: the tenant, the key or their kind has too
 * many. The caller holds no locks of counters.
 */
export async function openCounters(
  db: Queryable,
  tenantId: string,
  asks: readonly CounterAsk[],
): Promise<ReadonlySet<string>> {
  if (asks.length === 0) return new Set();
  const { policies, calendar } = await findCountedPolicies(db, tenantId, asks);
  const newest = byCounter(await findCounterRows(db, tenantId, asks));
  const opened = inOrder(asks).flatMap((ask): NewRow[] => {
    const policy = policies.get(ask.subjectId);
    const { resource } = ask;
    const row = newest.get(limitName(ask)) ?? null;
    if (policy === undefined || policy.limits[resource] === null) return [];
    const { window, isNew } = counterWindow(policy, { resource, calendar, row });
    const isOpen = !isNew || (row !== null && resource !== 'budget');
    if (isOpen) return [];
    return [{ ask, ...window, removableAt: removableAt(policy, { resource, window, now: calendar.now }) }];
  });
  const { full, openers } = await countNew(
    db,
    tenantId,
    opened.map(({ ask }) => ask),
  );
  const rows = opened.filter(
    ({ ask }) => !full.has(ask.subjectId) && (openers.has(ask.subjectId) || !isOfSession(ask)),
  );
  await insertRows(db, tenantId, { rows, openers });
  await noteSessionBudgets(db, tenantId, rows);
  const replaced = rows.flatMap(({ ask }) => newest.get(limitName(ask)) ?? []);
  await removeInTime(db, replaced, calendar.now + settledWithinMs);
  return full;
}

/** A budget of a session has one window: another request may have begun it meanwhile, at another time. */
function isOfSession({ counter }: CounterAsk): boolean {
  return counter.policyId === sessionBudgetPolicyId;
}

interface NewCounters {
  /** Those beyond a bound. */
  full: ReadonlySet<string>;
  /** Keys opening the others, by the ids of these; null without a key. */
  openers: ReadonlyMap<string, string | null>;
}

/** Counts new counters of the tenant, of the keys opening them, and of the kinds with bounds of their own. */
async function countNew(db: Queryable, tenantId: string, asks: readonly CounterAsk[]): Promise<NewCounters> {
  const full = new Set<string>();
  const openers = new Map<string, string | null>();
  if (asks.length === 0) return { full, openers };
  const bounds = new Map(
    asks.flatMap(({ counter }) => boundsOf(tenantId, counter)).map((bound) => [nameOf(bound), bound]),
  );
  const counts = await lockCounts(db, tenantId, [...bounds.values()]);
  // After the lock: another replica may have opened them.
  const known = await findKnown(db, tenantId, asks);
  const opened = new Map<string, number>();
  for (const { subjectId, counter } of asks) {
    if (known.has(subjectId) || full.has(subjectId) || openers.has(subjectId)) continue;
    const counting = boundsOf(tenantId, counter);
    const isFull = counting.some((bound) => {
      const name = nameOf(bound);
      return (counts.get(name) ?? 0) + (opened.get(name) ?? 0) >= bound.most;
    });
    if (isFull) {
      full.add(subjectId);
      continue;
    }
    openers.set(subjectId, counter.apiKeyId);
    for (const name of counting.map(nameOf)) opened.set(name, (opened.get(name) ?? 0) + 1);
  }
  await addCounts(
    db,
    [...opened].flatMap(([name, counters]) => {
      const bound = bounds.get(name);
      return bound === undefined ? [] : [{ ...bound, counters }];
    }),
  );
  return { full, openers };
}

/** A bound of live counters, with the row that counts them. */
interface CounterBound {
  subjectId: string;
  resource: 'counters' | 'keyless_counters' | 'session_counters';
  most: number;
}

/** Neither budgets of sessions nor runs without a key fill a tenant: the counters of others find room. */
export function boundsOf(
  tenantId: string,
  { policyId, apiKeyId }: Pick<PolicyCounter, 'policyId' | 'apiKeyId'>,
): CounterBound[] {
  const tenantBound = (resource: CounterBound['resource'], most: number): CounterBound => ({
    ...{ subjectId: tenantId, resource, most },
  });
  return [
    tenantBound('counters', maxCounters.tenant),
    apiKeyId === null
      ? tenantBound('keyless_counters', maxCounters.keyless)
      : { subjectId: apiKeyId, resource: 'counters', most: maxCounters.key },
    ...(policyId === sessionBudgetPolicyId
      ? [tenantBound('session_counters', maxCounters.sessionBudgets)]
      : []),
  ];
}

function nameOf({ subjectId, resource }: Pick<CounterBound, 'subjectId' | 'resource'>): string {
  return `${subjectId} ${resource}`;
}

async function findKnown(db: Queryable, tenantId: string, asks: readonly CounterAsk[]) {
  const rows = await db.all<{ id: string }>({
    name: 'find_known_counters',
    text: `select a.id from unnest($1::uuid[]) as a (id)
     where exists (select from tenant.policy_counters c where c.id = a.id and c.tenant_id = $2)`,
    values: [[...new Set(asks.map(({ subjectId }) => subjectId))], tenantId],
  });
  return new Set(rows.map(({ id }) => id));
}

/** Locks and returns the counts of live counters, by the names of their bounds. */
async function lockCounts(
  db: Queryable,
  tenantId: string,
  bounds: readonly CounterBound[],
): Promise<ReadonlyMap<string, number>> {
  const values = [bounds.map(({ subjectId }) => subjectId), bounds.map(({ resource }) => resource)];
  await db.query({
    name: 'insert_counts',
    text: `insert into tenant.limit_uses (tenant_id, subject_id, resource)
     select $1, b.id, b.resource from unnest($2::uuid[], $3::text[]) as b (id, resource)
     order by b.id, b.resource on conflict do nothing`,
    values: [tenantId, ...values],
  });
  const rows = await db.all<Pick<CounterBound, 'subjectId' | 'resource'> & { used: number }>({
    name: 'lock_counts',
    text: `select subject_id as "subjectId", resource, used::integer as used from tenant.limit_uses
     where subject_id = any ($1::uuid[]) and resource = any ($2::text[])
     order by subject_id, resource for update`,
    values,
  });
  return new Map(rows.map((row) => [nameOf(row), row.used]));
}

async function addCounts(
  db: Queryable,
  added: readonly (CounterBound & { counters: number })[],
): Promise<void> {
  if (added.length === 0) return;
  await db.query({
    name: 'add_counts',
    text: `update tenant.limit_uses u set used = greatest(0, u.used + a.counters)
     from unnest($1::uuid[], $2::text[], $3::integer[]) as a (id, resource, counters)
     where u.subject_id = a.id and u.resource = a.resource and u.subject_id = any ($1::uuid[])`,
    values: [
      added.map(({ subjectId }) => subjectId),
      added.map(({ resource }) => resource),
      added.map(({ counters }) => counters),
    ],
  });
}

/** All rows of a counter have the same key, its opener. */
async function insertRows(
  db: Queryable,
  tenantId: string,
  { rows, openers }: { rows: readonly NewRow[]; openers: NewCounters['openers'] },
): Promise<void> {
  if (rows.length === 0) return;
  await db.query({
    name: 'insert_counters',
    text: `insert into tenant.policy_counters
       (tenant_id, id, policy_id, value, user_id, api_key_id, resource, window_start, window_end, removable_at,
        session_budget)
     select $1, r.id, r.policy_id, r.value, r.user_id,
            case when r.is_new then r.api_key_id
              else (select api_key_id from tenant.policy_counters where id = r.id and tenant_id = $1 limit 1) end, r.resource, to_timestamp(r.starts_at / 1000),
            to_timestamp(r.ends_at / 1000), coalesce(to_timestamp(r.removable_at / 1000), 'infinity'), r.session_budget
     from unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::float8[], $9::float8[],
                 $10::float8[], $11::boolean[], $12::numeric[])
       as r (id, policy_id, value, user_id, api_key_id, resource, starts_at, ends_at, removable_at, is_new,
             session_budget)
     on conflict do nothing`,
    values: [
      tenantId,
      rows.map(({ ask }) => ask.subjectId),
      rows.map(({ ask }) => ask.counter.policyId),
      rows.map(({ ask }) => ask.counter.value),
      rows.map(({ ask }) => ask.counter.userId),
      rows.map(({ ask }) => openers.get(ask.subjectId) ?? null),
      rows.map(({ ask }) => ask.resource),
      rows.map(({ start }) => start),
      rows.map(({ end }) => end),
      rows.map(({ removableAt: removal }) => finite(removal)),
      rows.map(({ ask }) => openers.has(ask.subjectId)),
      rows.map(({ ask }) => ask.counter.sessionBudget?.toString()),
    ],
  });
}

/**
 * Replicas of chat learn of budgets of sessions as changes: of the first one as of the settings of the tenant, which say
 * whether it has any. The caller holds the lock of its counters.
 */
async function noteSessionBudgets(db: Queryable, tenantId: string, rows: readonly NewRow[]): Promise<void> {
  const opened = rows.filter(({ ask }) => isOfSession(ask));
  if (opened.length === 0) return;
  await db.query(
    `insert into tenant.changes (tenant_id, subject)
     select $1::uuid, id::text from unnest($3::uuid[]) as opened (id)
     union all
     select $1, null where not exists (
       select from tenant.policy_counters where tenant_id = $1 and policy_id = $2 and id <> all ($3::uuid[]))`,
    [tenantId, sessionBudgetPolicyId, opened.map(({ ask }) => ask.subjectId)],
  );
}

/** Windows that ended before their time, by a reset or another selection, are removed as if it had come. */
async function removeInTime(db: Queryable, replaced: readonly CounterRow[], at: number): Promise<void> {
  const late = replaced.filter((row) => row.removableAt > at);
  if (late.length === 0) return;
  await db.query(
    `update tenant.policy_counters c set removable_at = to_timestamp($3::float8 / 1000)
     from unnest($1::uuid[], $2::float8[]) as r (id, starts_at)
     where c.id = r.id and c.resource = 'budget' and c.window_start = to_timestamp(r.starts_at / 1000)
       and c.id = any ($1::uuid[])`,
    [late.map(({ id }) => id), late.map(({ window }) => window.start), at],
  );
}
