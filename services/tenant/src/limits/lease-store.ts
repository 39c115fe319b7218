import { AppError, assertTenantActive } from '@gatehouse/kit/errors';
import { sessionBudgetPolicyId } from '@gatehouse/kit/session-budget';
import type { Queryable } from '@gatehouse/pg/pool';
import {
  isHeld,
  lease,
  limitName,
  unleasedOf,
  validForMs,
  type Ask,
  type AskedLimit,
  type Demand,
  type Lease,
  type Resource,
} from './leases.ts';
import { findHeld, findLimitRows, findSubjects, readLimits, type Limited } from './limit-store.ts';
import { findCountedPolicies } from './counted-policy-store.ts';
import {
  findCounterRows,
  lowerSessionBudgets,
  readCounters,
  updateCounters,
  type CounterAsk,
  type LimitedCounter,
} from './policy-counter-store.ts';
import type { PolicyCounter } from './policy-counters.ts';

/** Leases of the limits of one tenant to a replica, in one transaction. */

export interface ResourceAsk extends Ask {
  subjectId: string;
  resource: Resource;
  /** Absent for a limit of the tenant or of a key. */
  counter?: PolicyCounter;
}

/** Returned amounts, and demands of waiting requests. */
export interface RequestedLeases {
  asks: readonly ResourceAsk[];
  demands: readonly Demand[];
}

export interface Granted {
  resource: Resource;
  limit: bigint;
  /** Whether it is charged, and refuses nothing. */
  chargesOnly: boolean;
  lease: Lease;
  publishedPercent: number;
  /** Whether there are too many counters to open this one. */
  isFull: boolean;
  validForMs: number;
  resetsInMs: number;
}

function grantOf(
  { resource, limitUse, chargesOnly = false, publishedPercent }: Limited,
  { leased, now, isFull }: { leased: Lease; now: number; isFull: boolean },
): Granted {
  const { window } = leased;
  return {
    resource,
    limit: limitUse.limit,
    chargesOnly,
    lease: leased,
    publishedPercent,
    isFull,
    validForMs: validForMs(window, now),
    resetsInMs: window.end === null ? 0 : Math.max(0, window.end - now),
  };
}

/** Whether it is of a policy's counter. */
export function isOfCounter(ask: ResourceAsk): ask is ResourceAsk & CounterAsk {
  return ask.counter !== undefined;
}

/** Whether it is of a limit of the tenant or of a key. */
export function isOfSubject(ask: ResourceAsk): boolean {
  return ask.counter === undefined;
}

interface LockedLeases extends RequestedLeases {
  holder: { id: string; sequence: bigint };
  /** Counters that may not be opened; null before any was to be opened. */
  full: ReadonlySet<string> | null;
}

/**
 * Leases from locked rows. Null where rows are missing. The statements go out together and run in this order: the holds of
 * others are read after the locks.
 */
export async function leaseLocked(
  db: Queryable,
  tenantId: string,
  { holder, asks, demands, full }: LockedLeases,
): Promise<(Granted | null)[] | null> {
  const subjects = asks.filter(isOfSubject);
  const keyIds = [...new Set(subjects.map(({ subjectId }) => subjectId))];
  const counterAsks = asks.filter(isOfCounter);
  const subjectIds = [...new Set(asks.map(({ subjectId }) => subjectId))];
  const [limitRows, rows, , held, subjectRows, policies] = await Promise.all([
    findLimitRows(db, keyIds, { lock: 'for update' }),
    findCounterRows(db, tenantId, counterAsks, 'for update'),
    lowerSessionBudgets(db, counterAsks),
    findHeld(db, tenantId, { subjectIds, exceptHolder: holder.id }),
    findSubjects(db, tenantId, keyIds),
    findCountedPolicies(db, tenantId, counterAsks),
  ]);
  const known = new Set(limitRows.map(limitName));
  if (full === null && !subjects.every((ask) => known.has(limitName(ask)))) return null;
  const { now, tenantStatus, replicas, limits } = await readLimits(db, {
    subjects: subjectRows,
    limitRows,
    held,
  });
  const counters = readCounters({
    ...{ asks: counterAsks, rows, held },
    ...{ full: full ?? new Set(), counted: policies },
  });
  if (counters === null) return null;
  // An inactive tenant may return what it holds.
  if (demands.length > 0) assertTenantActive(tenantStatus);
  const leases = leasesOf(tenantId, { asks, demands, limited: [...limits, ...counters], replicas });
  const counted = new Map(counters.map((counter) => [limitName(counter), counter]));
  const granted = leases.map(({ limited, leased, ask }) => {
    if (limited === null || leased === null) return null;
    return grantOf(limited, { leased, now, isFull: counted.get(limitName(ask))?.row === null });
  });
  await storeLeases(db, { holder, tenantId, asks, granted, counted });
  return granted;
}

/** The lease of each ask, with its limit; null without one. */
function leasesOf(
  tenantId: string,
  { asks, demands, limited, replicas }: RequestedLeases & { limited: readonly Limited[]; replicas: number },
): { ask: ResourceAsk; limited: Limited | null; leased: Lease | null }[] {
  const byName = new Map(limited.map((each) => [limitName(each), each]));
  const requested = asks.map((ask) => ({ ask, limited: byName.get(limitName(ask)) ?? null }));
  const leases = lease(
    requested.map((each) =>
      each.limited === null ? null : askedLimit(tenantId, { ...each, limited: each.limited, replicas }),
    ),
    demands,
    replicas,
  );
  return requested.map((each, index) => ({ ...each, leased: leases[index] ?? null }));
}

async function storeLeases(
  db: Queryable,
  {
    holder,
    tenantId,
    asks,
    granted,
    counted,
  }: {
    holder: LockedLeases['holder'];
    tenantId: string;
    asks: readonly ResourceAsk[];
    granted: readonly (Granted | null)[];
    counted: ReadonlyMap<string, LimitedCounter>;
  },
): Promise<void> {
  const leases = asks.flatMap((ask, index) => {
    const grant = granted[index] ?? null;
    return grant === null || grant.isFull ? [] : [{ ask, ...grant }];
  });
  const counterLeases = leases.flatMap(({ ask, lease: { window, used } }) => {
    const { row, removableAt = 0 } = counted.get(limitName(ask)) ?? { row: null };
    return row === null ? [] : [{ row, window, used, removableAt }];
  });
  const subjectLeases = leases.filter(({ ask }) => isOfSubject(ask));
  const unlimited = asks.filter((_, index) => granted[index] === null);
  await Promise.all([
    updateLimitRows(db, subjectLeases),
    updateCounters(db, counterLeases),
    upsertHolds(db, { holder, tenantId, leases }),
    dropHolds(db, holder.id, unlimited),
  ]);
}

/** The limit without its unleased part. */
function askedLimit(
  tenantId: string,
  { ask, limited, replicas }: { ask: ResourceAsk; limited: Limited; replicas: number },
): AskedLimit {
  const { subjectId, resource, limitUse, chargesOnly = false } = limited;
  const unleased = subjectId === tenantId ? unleasedOf(resource, limitUse.limit, replicas) : 0n;
  return {
    ...{ resource, ask, chargesOnly, inAdvance: ask.counter?.policyId !== sessionBudgetPolicyId },
    limitUse: { ...limitUse, limit: limitUse.limit - unleased },
  };
}

/** Inserts missing rows of limits. */
export async function insertMissing(
  db: Queryable,
  tenantId: string,
  asks: readonly ResourceAsk[],
): Promise<void> {
  await db.query({
    name: 'insert_missing_limits',
    text: `insert into tenant.limit_uses (tenant_id, subject_id, resource)
     select $1, a.subject_id, a.resource from unnest($2::uuid[], $3::text[]) as a (subject_id, resource)
     where not exists (select from tenant.limit_uses q where q.subject_id = a.subject_id and q.resource = a.resource)
       and (a.subject_id = $1 or exists (
         select from tenant.api_keys k where k.id = a.subject_id and k.tenant_id = $1))
     order by a.subject_id, a.resource
     on conflict do nothing`,
    values: [tenantId, asks.map((ask) => ask.subjectId), asks.map((ask) => ask.resource)],
  });
}

interface RequestedLease {
  ask: ResourceAsk;
  lease: Lease;
  publishedPercent: number;
}

/** When a budget moves to a new window, the previous one is kept for runs that settle late. */
async function updateLimitRows(db: Queryable, leases: readonly RequestedLease[]): Promise<void> {
  if (leases.length === 0) return;
  const budget = (request: RequestedLease, bound: number | null): number | null =>
    request.ask.resource === 'budget' ? bound : null;
  await db.query({
    name: 'update_limit_rows',
    text: `update tenant.limit_uses q set
       used = l.used, published_percent = l.published_percent, window_start = to_timestamp(l.name / 1000),
       starts_at = to_timestamp(l.starts_at / 1000), ends_at = to_timestamp(l.ends_at / 1000),
       previous_window = case when q.window_start = to_timestamp(l.name / 1000) then q.previous_window else q.window_start end,
       previous_ends_at = case when q.window_start = to_timestamp(l.name / 1000) then q.previous_ends_at else q.ends_at end
     from unnest($1::uuid[], $2::text[], $3::numeric[], $4::smallint[], $5::float8[], $6::float8[], $7::float8[])
       as l (subject_id, resource, used, published_percent, name, starts_at, ends_at)
     where q.subject_id = l.subject_id and q.resource = l.resource and q.subject_id = any ($1::uuid[])`,
    values: [
      leases.map(({ ask }) => ask.subjectId),
      leases.map(({ ask }) => ask.resource),
      leases.map(({ lease: { used } }) => used.toString()),
      leases.map(({ publishedPercent }) => publishedPercent),
      leases.map(({ lease: { name } }) => name),
      leases.map((request) => budget(request, request.lease.window.start)),
      leases.map((request) => budget(request, request.lease.window.end)),
    ],
  });
}

/** Sets the amount of a hold instead of adding to it: the next call corrects a lost answer. */
async function upsertHolds(
  db: Queryable,
  {
    holder,
    tenantId,
    leases,
  }: { holder: { id: string; sequence: bigint }; tenantId: string; leases: readonly RequestedLease[] },
): Promise<void> {
  const holds = leases.filter(({ ask }) => isHeld(ask.resource));
  if (holds.length === 0) return;
  const stored = await db.count({
    name: 'upsert_holds',
    text: `insert into tenant.limit_holds as h
       (holder_id, tenant_id, subject_id, resource, window_start, amount, spare, sequence)
     select $1, $2, l.subject_id, l.resource, to_timestamp(l.window_start / 1000), l.amount, l.spare, $3
     from unnest($4::uuid[], $5::text[], $6::float8[], $7::numeric[], $8::numeric[])
       as l (subject_id, resource, window_start, amount, spare)
     order by l.subject_id, l.resource
     on conflict (subject_id, resource, holder_id) do update set
       window_start = excluded.window_start, amount = excluded.amount, spare = excluded.spare,
       sequence = excluded.sequence
     where h.sequence < excluded.sequence`,
    values: [
      holder.id,
      tenantId,
      holder.sequence.toString(),
      holds.map(({ ask }) => ask.subjectId),
      holds.map(({ ask }) => ask.resource),
      holds.map(({ lease: { name } }) => name),
      holds.map(({ lease: { hold } }) => hold.toString()),
      holds.map(({ lease: { spare } }) => spare.toString()),
    ],
  });
  if (stored !== holds.length)
    throw new AppError('lease_superseded', 'A later call of this replica has been answered already.');
}

/** Sets the holds of a removed limit to 0: they must not count when the limit is set again. */
async function dropHolds(db: Queryable, holderId: string, asks: readonly ResourceAsk[]): Promise<void> {
  if (asks.length === 0) return;
  await db.query(
    `update tenant.limit_holds h set amount = 0
     from unnest($2::uuid[], $3::text[]) as a (subject_id, resource)
     where h.holder_id = $1 and h.subject_id = a.subject_id and h.resource = a.resource
       and h.subject_id = any ($2::uuid[])`,
    [holderId, asks.map((ask) => ask.subjectId), asks.map((ask) => ask.resource)],
  );
}
