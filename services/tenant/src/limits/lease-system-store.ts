import type { NewAuditEntry } from '@gatehouse/contract/audit';
import type { NewAlert } from '@gatehouse/events/alert-event';
import type { RecordChange } from '@gatehouse/audited-changes/changes';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { usdOf } from '@gatehouse/kit/money';
import { inTenantOrder, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { thresholdsReached, type LimitUse, type Threshold } from './leases.ts';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import { Store } from '@gatehouse/pg/store';
import { publishCounterThresholds } from './counter-threshold-store.ts';
import { settleMs } from '../bounds.ts';
import { bySystem } from '../by-system.ts';
import { chargeBudgets, chargeHolds, updatePublished } from './budget-spend-store.ts';
import {
  insertMissing,
  isOfCounter,
  isOfSubject,
  leaseLocked,
  type Granted,
  type RequestedLeases,
} from './lease-store.ts';
import { findLimitRows, findSubjects, readLimits } from './limit-store.ts';
import { openCounters } from './counter-opening-store.ts';
import { chargeCounters, lockBudgets } from './policy-counter-store.ts';

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

/** A window that ends between its opening and its lease is opened again. */
const openTries = 3;

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
    await this.#options.touchHolder(holder.id);
    const locked = await inTenantOrder(this.pool, tenantId, (db) =>
      leaseLocked(db, tenantId, { ...request, holder, full: null }),
    );
    if (locked !== null) return locked;
    // In a transaction without earlier row locks: two first leases would wait for each other.
    for (let tries = 0; tries < openTries; tries += 1) {
      const opened = await inTenantOrder(this.pool, tenantId, async (db) => {
        const subjects = request.asks.filter(isOfSubject);
        await insertMissing(db, tenantId, subjects);
        // Before rows of counters, as settlements lock them.
        await findLimitRows(
          db,
          subjects.map(({ subjectId }) => subjectId),
          { lock: 'for update' },
        );
        const full = await openCounters(db, tenantId, request.asks.filter(isOfCounter));
        return leaseLocked(db, tenantId, { ...request, holder, full });
      });
      if (opened !== null) return opened;
    }
    throw new AppError('service_unavailable', 'The windows of policies could not be opened. Try again.');
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
    const chargedIds = subjectsOf(settlements.flatMap(({ charges }) => charges));
    // Sent together and run in this order: leases wait for the locks.
    const [, fresh, limitRows, counterIds] = await Promise.all([
      db.query(`set local lock_timeout = '1s'`),
      insertSettlements(db, settlements),
      findLimitRows(db, chargedIds, { kinds: ['budget'], lock: 'for update' }),
      lockBudgets(db, tenantId, chargedIds),
    ]);
    const charges = settlements
      .filter((settlement) => fresh.has(settlement.id))
      .flatMap(({ charges, ...settlement }) => charges.map((charge) => ({ ...settlement, ...charge })));
    if (charges.length === 0) return;
    // Most tenants have budgets of one kind: statements for the other would cost as much.
    const limitIds = new Set(limitRows.map(({ subjectId }) => subjectId));
    const limitCharges = charges.filter(({ subjectId }) => limitIds.has(subjectId));
    const counterCharges = charges.filter(({ subjectId }) => counterIds.has(subjectId));
    await Promise.all([
      chargeBudgets(db, tenantId, limitCharges),
      chargeCounters(db, tenantId, counterCharges),
      chargeHolds(db, charges),
    ]);
    await this.#publishOfCounters(db, tenantId, subjectsOf(counterCharges));
    await this.#publishOfLimits(db, tenantId, subjectsOf(limitCharges));
  }

  async #publishOfCounters(db: Queryable, tenantId: string, counterIds: readonly string[]): Promise<void> {
    if (counterIds.length === 0) return;
    for (const alert of await publishCounterThresholds(db, tenantId, counterIds))
      await this.#options.raise(db, alert);
  }

  async #publishOfLimits(db: Queryable, tenantId: string, subjectIds: readonly string[]): Promise<void> {
    if (subjectIds.length === 0) return;
    const [limitRows, subjects] = await Promise.all([
      findLimitRows(db, subjectIds, { kinds: ['budget'] }),
      findSubjects(db, tenantId, subjectIds),
    ]);
    const { limits } = await readLimits(db, { subjects, limitRows, held: [] });
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

function subjectsOf(charges: readonly { subjectId: string }[]): string[] {
  return [...new Set(charges.map(({ subjectId }) => subjectId))];
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
      {
        ...{ id: newId(), tenant_id: tenantId, type: 'budget.threshold' },
        data: { ...data, policy: null, value: null },
      },
      {
        ...{ id: newId(), tenant_id: null, type: 'tenant.budget_threshold' },
        data: { tenant_id: tenantId, ...data },
      },
    ],
  };
}

/** Stores the settlements and returns the ids of the new ones. */
async function insertSettlements(
  db: Queryable,
  settlements: readonly Settlement[],
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ id: string }>({
    name: 'insert_settlements',
    text: `insert into tenant.settlements (id) select id from unnest($1::uuid[]) as s (id) order by id
     on conflict do nothing returning id`,
    values: [settlements.map(({ id }) => id)],
  });
  return new Set(rows.map((row) => row.id));
}
