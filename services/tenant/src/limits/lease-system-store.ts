import type { NewAuditEntry } from '@gatehouse/contract/audit';
import type { NewAlert } from '@gatehouse/events/alert-event';
import type { RecordChange } from '@gatehouse/audited-changes/changes';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError, assertTenantActive } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { usdOf } from '@gatehouse/kit/money';
import { inTenantOrder, type Pool, type Queryable } from '@gatehouse/pg/pool';
import {
  isHeld,
  lease,
  limitName,
  thresholdsReached,
  unleasedOf,
  validForMs,
  type Ask,
  type AskedLimit,
  type Demand,
  type Lease,
  type LimitUse,
  type Resource,
  type Threshold,
} from './leases.ts';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import { Store } from '@gatehouse/pg/store';
import { settleMs } from '../bounds.ts';
import { bySystem } from '../by-system.ts';
import { chargeBudgets, chargeHolds, updatePublished } from './budget-spend-store.ts';
import { findHeld, findLimitRows, readLimits, type Limited, type LimitRow } from './limit-store.ts';

export interface ResourceAsk extends Ask {
  subjectId: string;
  resource: Resource;
}

/** Returned amounts, and demands of waiting requests. */
export interface RequestedLeases {
  asks: readonly ResourceAsk[];
  demands: readonly Demand[];
}

export interface Granted {
  resource: Resource;
  limit: bigint;
  lease: Lease;
  publishedPercent: number;
  validForMs: number;
  resetsInMs: number;
}

/** Costs of runs reserved for by one holder. */
export interface Settlement {
  id: string;
  tenantId: string;
  holderId: string;
  /** The budgets of the runs' reservations. */
  charges: readonly { subjectId: string; windowStart: number }[];
  /** Negative where exact costs replace higher estimates charged before. */
  costPico: bigint;
}

/** Uncharged settlements of a tenant. */
export interface Uncharged {
  tenantId: string;
  ids: string[];
  error: unknown;
}

export interface LeaseOptions {
  /** Writes the heartbeat of a replica when it leases or settles. */
  touchHolder: (id: string) => Promise<void>;
  /** These get the thresholds reached by a budget's use. */
  recordChange: RecordChange;
  raise: RaiseAlert;
}

/** The limits of each tenant, from which replicas of chat lease. */
export class LeaseSystemStore extends Store {
  readonly #options: LeaseOptions;

  /** `pool` acts as `tenant_system`, for tenants in turns. */
  constructor(pool: Pool, options: LeaseOptions) {
    super(pool);
    this.#options = options;
  }

  /**
   * Leases to `holder`, in one transaction; null for resources without a limit. Throws `lease_superseded` when a later call of the holder
   * was already answered, and `tenant_suspended` when requests wait and the tenant is not active.
   */
  async lease(
    holder: { id: string; sequence: bigint },
    tenantId: string,
    request: RequestedLeases,
  ): Promise<(Granted | null)[]> {
    const { asks } = request;
    const subjectIds = [...new Set(asks.map((ask) => ask.subjectId))];
    await this.#options.touchHolder(holder.id);
    const locked = { lock: 'for update' } as const;
    const leased = await inTenantOrder(this.pool, tenantId, async (db) => {
      const limitRows = await findLimitRows(db, subjectIds, locked);
      const known = new Set(limitRows.map(limitName));
      const isKnown = asks.every((ask) => known.has(limitName(ask)));
      return isKnown ? leaseRows(db, tenantId, { ...request, holder, limitRows }) : null;
    });
    if (leased !== null) return leased;
    // In a transaction without earlier row locks: two first leases would wait for each other.
    return inTenantOrder(this.pool, tenantId, async (db) => {
      await insertMissing(db, tenantId, asks);
      const limitRows = await findLimitRows(db, subjectIds, locked);
      return leaseRows(db, tenantId, { ...request, holder, limitRows });
    });
  }

  /**
   * Charges new settlements, and records once in a window each threshold reached by a budget. Each tenant has a
   * transaction of its own: a failure affects no other tenant. Returns the failures.
   */
  async settle(holderId: string, settlements: readonly Settlement[]): Promise<Uncharged[]> {
    await this.#options.touchHolder(holderId);
    const startedAt = monotonicMs();
    const uncharged: Uncharged[] = [];
    for (const [tenantId, tenantSettlements] of Map.groupBy(
      settlements,
      (settlement) => settlement.tenantId,
    )) {
      try {
        if (monotonicMs() - startedAt > settleMs)
          throw new AppError('service_timeout', 'No time was left to charge these settlements.');
        await inTenantOrder(this.pool, tenantId, (db) => this.#settleTenant(db, tenantId, tenantSettlements));
      } catch (error) {
        uncharged.push({ tenantId, ids: tenantSettlements.map(({ id }) => id), error });
      }
    }
    return uncharged;
  }

  async #settleTenant(db: Queryable, tenantId: string, settlements: readonly Settlement[]): Promise<void> {
    await db.query(`set local lock_timeout = '1s'`);
    const fresh = await insertSettlements(db, settlements);
    const charges = settlements
      .filter((settlement) => fresh.has(settlement.id))
      .flatMap(({ charges, ...settlement }) => charges.map((charge) => ({ ...settlement, ...charge })));
    const subjectIds = [...new Set(charges.map((charge) => charge.subjectId))];
    if (subjectIds.length === 0) return;
    await findLimitRows(db, subjectIds, { kinds: ['budget'], lock: 'for update' });
    await chargeBudgets(db, tenantId, charges);
    await chargeHolds(db, charges);
    const limitRows = await findLimitRows(db, subjectIds, { kinds: ['budget'] });
    const { limits } = await readLimits(db, tenantId, { keyIds: subjectIds, limitRows, held: [] });
    for (const { subjectId, resource, limitUse, counted, publishedPercent } of limits) {
      if (resource !== 'budget' || counted !== 'kept') continue;
      const reached = thresholdsReached(limitUse.used, limitUse.limit, publishedPercent);
      for (const percent of reached) {
        const { entry, alerts } = thresholdReached(tenantId, { subjectId, percent, limitUse });
        await this.#options.recordChange(db, entry);
        for (const alert of alerts) await this.#options.raise(db, alert);
      }
      const highest = reached.at(-1);
      if (highest !== undefined)
        await updatePublished(db, tenantId, { subjectId, window: limitUse.window, percent: highest });
    }
  }
}

/** The audit log entry and the alerts for a budget at a threshold. */
function thresholdReached(
  tenantId: string,
  { subjectId, percent, limitUse }: { subjectId: string; percent: Threshold; limitUse: LimitUse },
): { entry: NewAuditEntry; alerts: NewAlert[] } {
  const type = subjectId === tenantId ? 'tenant' : 'api_key';
  const amounts = {
    percent,
    used_usd: usdOf(limitUse.used),
    budget_usd: usdOf(limitUse.limit),
    window_start: new Date(limitUse.window.start).toISOString(),
  };
  const data = { subject_type: type, subject_id: subjectId, ...amounts } as const;
  return {
    entry: {
      ...{ id: newId(), action: 'budget.threshold_reached', actor: bySystem.actor, tenant_id: tenantId },
      ...{ resource: { type, id: subjectId }, client_ip: null, request_id: null },
      ...{ before: null, after: amounts },
    },
    alerts: [
      { id: newId(), tenant_id: tenantId, type: 'budget.threshold', data },
      {
        ...{ id: newId(), tenant_id: null, type: 'tenant.budget_threshold' },
        data: { tenant_id: tenantId, ...data },
      },
    ],
  };
}

function grantOf(
  { resource, limitUse, publishedPercent }: Limited,
  { leased, now }: { leased: Lease; now: number },
): Granted {
  const { window } = leased;
  return {
    resource,
    limit: limitUse.limit,
    lease: leased,
    publishedPercent,
    validForMs: validForMs(window, now),
    resetsInMs: window.end === null ? 0 : Math.max(0, window.end - now),
  };
}

interface LockedRows extends RequestedLeases {
  holder: { id: string; sequence: bigint };
  limitRows: readonly LimitRow[];
}

/** Leases from locked rows: the holds of others are read after the lock. */
async function leaseRows(
  db: Queryable,
  tenantId: string,
  { holder, asks, demands, limitRows }: LockedRows,
): Promise<(Granted | null)[]> {
  const subjectIds = [...new Set(asks.map((ask) => ask.subjectId))];
  const held = await findHeld(db, subjectIds, holder.id);
  const { now, tenantStatus, replicas, limits } = await readLimits(db, tenantId, {
    keyIds: subjectIds,
    limitRows,
    held,
  });
  // An inactive tenant may return what it holds.
  if (demands.length > 0) assertTenantActive(tenantStatus);
  const byName = new Map(limits.map((limited) => [limitName(limited), limited]));
  const requested = asks.map((ask) => ({ ask, limited: byName.get(limitName(ask)) ?? null }));
  const leased = lease(
    requested.map(({ ask, limited }) =>
      limited === null ? null : askedLimit(tenantId, { ask, limited, replicas }),
    ),
    demands,
    replicas,
  );
  const answers = requested.map(({ ask, limited }, index) => {
    const granted = leased[index] ?? null;
    return {
      ask,
      granted: limited === null || granted === null ? null : grantOf(limited, { leased: granted, now }),
    };
  });
  const leases = answers.flatMap(({ ask, granted }) => (granted === null ? [] : [{ ask, ...granted }]));
  await updateLimitRows(db, leases);
  await upsertHolds(db, { holder, tenantId, leases });
  await dropHolds(
    db,
    holder.id,
    answers.filter(({ granted }) => granted === null).map(({ ask }) => ask),
  );
  return answers.map(({ granted }) => granted);
}

/** The limit without its unleased part. */
function askedLimit(
  tenantId: string,
  { ask, limited, replicas }: { ask: ResourceAsk; limited: Limited; replicas: number },
): AskedLimit {
  const { subjectId, resource, limitUse } = limited;
  const unleased = subjectId === tenantId ? unleasedOf(resource, limitUse.limit, replicas) : 0n;
  return { resource, limitUse: { ...limitUse, limit: limitUse.limit - unleased }, ask };
}

async function insertMissing(db: Queryable, tenantId: string, asks: readonly ResourceAsk[]): Promise<void> {
  await db.query(
    `insert into tenant.limit_uses (tenant_id, subject_id, resource)
     select $1, a.subject_id, a.resource from unnest($2::uuid[], $3::text[]) as a (subject_id, resource)
     where not exists (select from tenant.limit_uses q where q.subject_id = a.subject_id and q.resource = a.resource)
       and (a.subject_id = $1 or exists (
         select from tenant.api_keys k where k.id = a.subject_id and k.tenant_id = $1))
     order by a.subject_id, a.resource
     on conflict do nothing`,
    [tenantId, asks.map((ask) => ask.subjectId), asks.map((ask) => ask.resource)],
  );
}

interface RequestedLease {
  ask: ResourceAsk;
  lease: Lease;
  publishedPercent: number;
}

/** When a budget moves to a new window, the previous one is kept for runs that settle late. */
async function updateLimitRows(db: Queryable, leases: readonly RequestedLease[]): Promise<void> {
  const budget = (request: RequestedLease, bound: number | null): number | null =>
    request.ask.resource === 'budget' ? bound : null;
  await db.query(
    `update tenant.limit_uses q set
       used = l.used, published_percent = l.published_percent, window_start = to_timestamp(l.name / 1000),
       starts_at = to_timestamp(l.starts_at / 1000), ends_at = to_timestamp(l.ends_at / 1000),
       previous_window = case when q.window_start = to_timestamp(l.name / 1000) then q.previous_window else q.window_start end,
       previous_ends_at = case when q.window_start = to_timestamp(l.name / 1000) then q.previous_ends_at else q.ends_at end
     from unnest($1::uuid[], $2::text[], $3::numeric[], $4::smallint[], $5::float8[], $6::float8[], $7::float8[])
       as l (subject_id, resource, used, published_percent, name, starts_at, ends_at)
     where q.subject_id = l.subject_id and q.resource = l.resource and q.subject_id = any ($1::uuid[])`,
    [
      leases.map(({ ask }) => ask.subjectId),
      leases.map(({ ask }) => ask.resource),
      leases.map(({ lease: { used } }) => used.toString()),
      leases.map(({ publishedPercent }) => publishedPercent),
      leases.map(({ lease: { name } }) => name),
      leases.map((request) => budget(request, request.lease.window.start)),
      leases.map((request) => budget(request, request.lease.window.end)),
    ],
  );
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
  const stored = await db.count(
    `insert into tenant.limit_holds as h
       (holder_id, tenant_id, subject_id, resource, window_start, amount, spare, sequence)
     select $1, $2, l.subject_id, l.resource, to_timestamp(l.window_start / 1000), l.amount, l.spare, $3
     from unnest($4::uuid[], $5::text[], $6::float8[], $7::numeric[], $8::numeric[])
       as l (subject_id, resource, window_start, amount, spare)
     order by l.subject_id, l.resource
     on conflict (subject_id, resource, holder_id) do update set
       window_start = excluded.window_start, amount = excluded.amount, spare = excluded.spare,
       sequence = excluded.sequence
     where h.sequence < excluded.sequence`,
    [
      holder.id,
      tenantId,
      holder.sequence.toString(),
      holds.map(({ ask }) => ask.subjectId),
      holds.map(({ ask }) => ask.resource),
      holds.map(({ lease: { name } }) => name),
      holds.map(({ lease: { hold } }) => hold.toString()),
      holds.map(({ lease: { spare } }) => spare.toString()),
    ],
  );
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

/** Stores the settlements and returns the ids of the new ones. */
async function insertSettlements(
  db: Queryable,
  settlements: readonly Settlement[],
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ id: string }>(
    `insert into tenant.settlements (id) select id from unnest($1::uuid[]) as s (id) order by id
     on conflict do nothing returning id`,
    [settlements.map(({ id }) => id)],
  );
  return new Set(rows.map((row) => row.id));
}
