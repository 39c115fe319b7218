import type { MemoryLimits, TenantStatus } from '@gatehouse/contract/tenants';
import { type Queryable, withTenant } from '@gatehouse/pg/pool';
import { type MemoryAmounts, memoryLimitsOf } from './stored-limits.ts';
import type { Budget, Limits } from '@gatehouse/contract/keys';
import { Store } from '@gatehouse/pg/store';
import { minuteMs } from '@gatehouse/kit/bounds';
import { countsPerMinute } from '../bounds.ts';
import {
  type CountedWindow,
  limitName,
  limitOf,
  type LimitUse,
  moveWindow,
  type Resource,
  resources,
  type Window,
  type WindowMove,
} from './leases.ts';
import { findSpend } from './budget-spend-store.ts';

/** The limits of a key, and the zone of its budget's days and months. */
export interface LimitsOfKey extends LimitsNow {
  memoryLimits: MemoryAmounts;
  timezone: string;
}

/** The limits of one tenant, read-only. `pool` acts as `tenant_app`. */
export class LimitStore extends Store {
  /** The limits of the tenant and of some of its keys, with the amounts spent and held, and the limits of its memory. */
  async find(tenantId: string, keyIds: readonly string[]): Promise<LimitsOfKey> {
    return withTenant(this.pool, tenantId, async (db) => {
      const limitRows = await findLimitRows(db, [tenantId, ...keyIds]);
      const held = await findHeld(db, tenantId, { subjectIds: [tenantId, ...keyIds], exceptHolder: null });
      const { memoryLimits, timezone } = await findSettings(db, tenantId);
      const subjects = await findSubjects(db, tenantId, keyIds);
      const limits = await readLimits(db, { subjects, limitRows, held });
      return { ...limits, memoryLimits: memoryLimitsOf(memoryLimits), timezone };
    });
  }
}

async function findSettings(
  db: Queryable,
  tenantId: string,
): Promise<{ memoryLimits: MemoryLimits; timezone: string }> {
  const rows = await db.all<{ memoryLimits: MemoryLimits; timezone: string }>(
    `select memory_limits as "memoryLimits", tenant.timezone_or_utc(timezone) as timezone
     from tenant.tenants where id = $1`,
    [tenantId],
  );
  return rows[0] ?? { memoryLimits: {}, timezone: 'UTC' };
}

/** The queries shared by both stores of limits. The connection's role and tenant decide which rows they reach. */

/** A replica without a heartbeat for this long is dead, and its concurrency slots are free. */
const deadAfter = `interval '20 seconds'`;

/** A limit of a tenant or a key. */
export interface Limited {
  subjectId: string;
  resource: Resource;
  /** Only for a budget. */
  period: Budget['period'] | null;
  limitUse: LimitUse;
  /** The fate of the row's counted amount. */
  counted: WindowMove['used'];
  /** For the budget of a counter: whether it is charged, and refuses nothing. */
  chargesOnly?: boolean;
  /** For a budget: the highest threshold in percent recorded for this window in the audit log. */
  publishedPercent: number;
}

/** Limits at one moment of the database's clock, in milliseconds since the epoch. */
export interface LimitsNow {
  now: number;
  /** Null without a tenant of this id. */
  tenantStatus: TenantStatus | null;
  /** The number of live replicas. */
  replicas: number;
  limits: Limited[];
}

/** A tenant or a key with its settings, and the windows at one moment. */
interface SubjectRow {
  id: string;
  isTenant: boolean;
  status: TenantStatus;
  limits: Limits | null;
  budget: Budget | null;
  replicas: number;
  now: number;
  minute_start: number;
  minute_end: number;
  period_start: number;
  period_end: number;
}

export interface LimitRow {
  subjectId: string;
  resource: Resource;
  window: CountedWindow;
  used: bigint;
  publishedPercent: number;
}

export interface HeldRow {
  subjectId: string;
  resource: Resource;
  windowStart: number;
  amount: bigint;
  /** The part of it held by requests under way. */
  inUse: bigint;
}

/**
 * The limits of a tenant and of some of its keys, with the amounts spent and held. A limit without a row has no spending
 * yet.
 */
export async function readLimits(
  db: Queryable,
  {
    subjects,
    limitRows,
    held,
  }: { subjects: readonly SubjectRow[]; limitRows: readonly LimitRow[]; held: readonly HeldRow[] },
): Promise<LimitsNow> {
  const rowsByName = new Map(limitRows.map((row) => [limitName(row), row]));
  const heldByName = Map.groupBy(held, limitName);
  const rows = subjects.flatMap((subject) =>
    resources.flatMap((resource) => {
      const limit = resource === 'counts' ? countsOf(subject) : limitOf(subject, resource);
      if (limit === null) return [];
      const row = rowsByName.get(limitName({ subjectId: subject.id, resource }));
      const move = moveWindow(windowOf(subject, resource), row?.window ?? { name: 0, bounds: null });
      return [{ subject, resource, limit, row, move }];
    }),
  );
  const recounted = await findSpend(
    db,
    rows
      .filter(({ move }) => move.used === 'recount')
      .map(({ subject, move }) => ({ subjectId: subject.id, window: move.window })),
  );
  const limits = rows.map(({ subject, resource, limit, row, move }) => {
    const { name, window } = move;
    const { used, publishedPercent } = {
      kept: row,
      zero: undefined,
      recount: recounted.get(subject.id),
    }[move.used] ?? { used: 0n, publishedPercent: 0 };
    const holds = (heldByName.get(limitName({ subjectId: subject.id, resource })) ?? []).filter(
      ({ windowStart }) => windowStart === name,
    );
    const othersHold = holds.reduce((sum, { amount }) => sum + amount, 0n);
    const inUse = holds.reduce((sum, hold) => sum + hold.inUse, 0n);
    return {
      subjectId: subject.id,
      resource,
      period: resource === 'budget' ? (subject.budget?.period ?? null) : null,
      limitUse: { limit, window, name, used, othersHold, inUse },
      counted: move.used,
      publishedPercent,
    };
  });
  const [first] = subjects;
  return {
    now: first?.now ?? 0,
    tenantStatus: first?.status ?? null,
    replicas: first?.replicas ?? 0,
    limits,
  };
}

interface StoredLimitRow {
  subjectId: string;
  resource: Resource;
  start: number;
  startsAt: number | null;
  endsAt: number | null;
  used: string;
  publishedPercent: number;
}

/** The lock `for update` blocks other writers of the same rows. Rows are locked in a fixed order. */
export async function findLimitRows(
  db: Queryable,
  subjectIds: readonly string[],
  { kinds = resources, lock = '' }: { kinds?: readonly Resource[]; lock?: 'for update' | '' } = {},
): Promise<LimitRow[]> {
  if (subjectIds.length === 0) return [];
  const rows = await db.all<StoredLimitRow>({
    name: lock === '' ? 'find_limit_rows' : 'lock_limit_rows',
    text: `select subject_id as "subjectId", resource, ${milliseconds('window_start')} as start,
            ${milliseconds('starts_at')} as "startsAt", ${milliseconds('ends_at')} as "endsAt", used::text,
            published_percent as "publishedPercent"
     from tenant.limit_uses where subject_id = any($1::uuid[]) and resource = any($2::text[])
     order by subject_id, resource ${lock}`,
    values: [subjectIds, kinds],
  });
  return rows.map((row) => {
    const { subjectId, resource, start, used, publishedPercent } = row;
    const window = { name: start, bounds: boundsOf(row) };
    return { subjectId, resource, window, used: BigInt(used), publishedPercent };
  });
}

/** The end of a minute follows from its start. */
function boundsOf({ resource, start, startsAt, endsAt }: StoredLimitRow): CountedWindow['bounds'] {
  if (resource !== 'budget') return { start, end: start + minuteMs };
  // A replica of the previous release moves the window without updating its bounds, which then are outdated.
  return startsAt === null || endsAt === null || endsAt <= start ? null : { start: startsAt, end: endsAt };
}

/**
 * Sums of what replicas other than `exceptHolder` hold. Dead replicas keep holds on budgets until their runs settle. Holds are
 * found by their subjects ("offset 0"): few replicas hold something of all tenants each.
 */
export async function findHeld(
  db: Queryable,
  tenantId: string,
  { subjectIds, exceptHolder }: { subjectIds: readonly string[]; exceptHolder: string | null },
): Promise<HeldRow[]> {
  const rows = await db.all<Record<'amount' | 'inUse', string> & Omit<HeldRow, 'amount' | 'inUse'>>({
    name: 'find_held',
    text: `select h.subject_id as "subjectId", h.resource, ${milliseconds('h.window_start')} as "windowStart",
            sum(h.amount)::text as amount, sum(greatest(0, h.amount - h.spare))::text as "inUse"
     from (select distinct unnest($1::uuid[])) as s (id) cross join lateral (
       select holder_id, subject_id, resource, window_start, amount, spare from tenant.limit_holds
       where subject_id = s.id and tenant_id = $3 and holder_id is distinct from $2::uuid and amount > 0 offset 0
     ) as h join tenant.limit_holders o on o.id = h.holder_id
     where o.released_at is null and (h.resource = 'budget' or o.seen_at > clock_timestamp() - ${deadAfter})
     group by h.subject_id, h.resource, h.window_start`,
    values: [subjectIds, exceptHolder, tenantId],
  });
  return rows.map(({ amount, inUse, ...row }) => ({ ...row, amount: BigInt(amount), inUse: BigInt(inUse) }));
}

/** A tenant and those of its keys. */
export async function findSubjects(
  db: Queryable,
  tenantId: string,
  keyIds: readonly string[],
): Promise<SubjectRow[]> {
  return db.all<SubjectRow>({
    name: 'find_subjects',
    text: `with clock as materialized (select clock_timestamp() as at),
     subjects as materialized (
       select id, status, limits, budget, tenant.timezone_or_utc(budget_timezone) as timezone
       from tenant.tenants where id = $1
       union all
       select k.id, t.status, k.limits, k.budget, tenant.timezone_or_utc(t.budget_timezone) from tenant.api_keys k join tenant.tenants t on t.id = k.tenant_id
       where k.tenant_id = $1 and k.id = any($2::uuid[])
     ), periods as (
       select id, status, limits, budget, timezone, at,
              date_trunc(coalesce(budget ->> 'period', 'day'), at at time zone timezone) as period,
              ('1 ' || coalesce(budget ->> 'period', 'day'))::interval as length
       from subjects, clock
     )
     select id, id = $1 as "isTenant", status, limits, budget, ${milliseconds('at')} as now,
            (select count(*)::integer from tenant.limit_holders where released_at is null and seen_at > at - ${deadAfter}) as replicas,
            ${milliseconds(`date_trunc('minute', at)`)} as minute_start,
            ${milliseconds(`date_trunc('minute', at) + interval '1 minute'`)} as minute_end,
            ${milliseconds('period at time zone timezone')} as period_start,
            ${milliseconds('(period + length) at time zone timezone')} as period_end
     from periods`,
    values: [tenantId, keyIds],
  });
}

/** An SQL expression: the time in milliseconds since the epoch. */
export function milliseconds(time: string): string {
  return `floor(extract(epoch from ${time}) * 1000)::float8`;
}

function countsOf({ isTenant }: SubjectRow): bigint {
  return isTenant ? countsPerMinute.tenant : countsPerMinute.key;
}

function windowOf(subject: SubjectRow, resource: Resource): Window {
  switch (resource) {
    case 'requests':
    case 'tokens':
    case 'counts':
      return { start: subject.minute_start, end: subject.minute_end };
    case 'budget':
      return { start: subject.period_start, end: subject.period_end };
    case 'concurrency':
      return { start: 0, end: null };
  }
}
