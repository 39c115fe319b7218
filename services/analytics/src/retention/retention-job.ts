import { maxRetentionDays } from '@gatehouse/contract/tenants';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { dayMs, minuteMs } from '@gatehouse/kit/bounds';
import { sleep } from '@gatehouse/kit/clock';
import { beforeFirst } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { counter, type Counter, gauge, type Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { RetentionStore, TenantRows } from './retention-system-store.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import { deadLetterDays, leastRetentionDays, traceAges } from './trace-ages.ts';

export interface RetentionTimes {
  /** The longest time from the start to the first sweep; the shortest is half of it. The same holds for the others. */
  firstMs: number;
  /** The time from one sweep to the next. */
  everyMs: number;
  /** The time until the next sweep after an outage of the database or of the tenant service. */
  retryMs: number;
}

export interface RetentionOptions {
  store: RetentionStore;
  tenants: Pick<TenantSettingsClient, 'daysOf'>;
  log: Logger;
  registry: Registry;
  times?: Partial<RetentionTimes> | undefined;
  /** The number of rows one transaction reads. */
  batchSize?: number | undefined;
}

const defaultTimes: RetentionTimes = { firstMs: minuteMs, everyMs: dayMs, retryMs: 10 * minuteMs };
/** Measured with 122 partitions and `fsync`: 18 ms to delete a batch, 23 ms to remove its texts; 38 ms at most. */
const defaultBatchSize = 1_000;
/** Tenants found by one statement. Each is a look into the index of every partition: 70 ms together with 120 of them. */
const tenantsPerPage = 100;
/** Pause between two batches, to leave the disk to other writers. */
const pauseMs = 20;

/** The deletion of one kind of rows, tenant by tenant. */
interface TenantSweep {
  nextTenants: (after: string, limit: number) => Promise<TenantRows[]>;
  sweepTenant: (tenantId: string, retentionDays: number, signal?: AbortSignal) => Promise<void>;
  lastTenant: string;
}

type SweepOutcome = 'done' | 'failed' | 'outage';

/**
 * Deletes expired traces and refused requests, once a day. Every replica runs it without coordination: a lock gives each batch to one
 * replica, and the others don't find deleted rows again.
 */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #batchSize: number;
  readonly #rows: Counter<'action'>;
  readonly #success: Gauge;
  readonly #work: PeriodicWork;
  readonly #sweeps: readonly TenantSweep[];

  constructor(options: RetentionOptions) {
    this.#options = options;
    const { store, log, times } = options;
    const round = (signal: AbortSignal): Promise<'retry' | false> => this.#round(signal);
    this.#work = new PeriodicWork({ task: 'delete old traces', log, ...defaultTimes, ...times, round });
    this.#batchSize = options.batchSize ?? defaultBatchSize;
    this.#sweeps = [
      {
        nextTenants: (...page) => store.nextTenants(...page),
        sweepTenant: (...tenant) => this.#sweepTraces(...tenant),
        lastTenant: beforeFirst,
      },
      {
        nextTenants: (...page) => store.nextTenantsOfRefusals(...page),
        sweepTenant: (...tenant) => this.#sweepRefusals(...tenant),
        lastTenant: beforeFirst,
      },
    ];
    this.#rows = counter(
      options.registry,
      'gatehouse_retention_rows_total',
      'Traces, refused requests and dead letters deleted, and traces whose texts were removed, after their retention',
      ['action'],
    );
    this.#success = gauge(
      options.registry,
      'gatehouse_retention_success_timestamp_seconds',
      'When this replica last finished deleting expired data; 0 until then',
    );
  }

  start(): void {
    this.#work.start();
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  /** Sweeps all tenants once. False when a part has to be retried soon. Throws when `signal` aborts. */
  async sweep(signal?: AbortSignal): Promise<boolean> {
    const { store, log } = this.#options;
    let complete = true;
    for (const sweep of this.#sweeps) complete = (await this.#sweepTenants(sweep, signal)) && complete;
    const deadLetters = { olderThanDays: deadLetterDays, limit: this.#batchSize };
    await this.#repeat('dead_letter_deleted', () => store.deleteDeadLetters(deadLetters), signal);
    for (;;) {
      const partition = await store.dropExpiredPartition();
      if (partition === null) return complete;
      log.info({ partition }, 'dropped a partition of traces older than any retention');
    }
  }

  /**
   * During an outage of the tenant service, the longest retention holds for all tenants, and the next sweep continues
   * from the tenant at which the outage was noticed. A tenant is skipped until the next sweep if its retention can't be read or applied for any
   * other reason.
   */
  async #sweepTenants(sweep: TenantSweep, signal?: AbortSignal): Promise<boolean> {
    const outcome = await this.#walk(sweep, { isAway: false }, signal);
    if (outcome === 'outage') await this.#walk(sweep, { isAway: true }, signal);
    else sweep.lastTenant = beforeFirst;
    return outcome === 'done';
  }

  /** Sweeps the tenants after the last one, up to an outage; with `isAway`, all tenants by the longest retention. */
  async #walk(
    sweep: TenantSweep,
    { isAway }: { isAway: boolean },
    signal?: AbortSignal,
  ): Promise<SweepOutcome> {
    let all: SweepOutcome = 'done';
    for (let after = isAway ? beforeFirst : sweep.lastTenant; ;) {
      const page = await sweep.nextTenants(after, tenantsPerPage);
      for (const next of page) {
        const outcome = await this.#sweepIfOld({ ...sweep, isAway }, next, signal);
        if (outcome === 'outage') return outcome;
        if (outcome === 'failed') all = outcome;
        after = next.tenantId;
        if (!isAway) sweep.lastTenant = after;
      }
      if (page.length < tenantsPerPage) return all;
      await sleep(pauseMs, signal);
    }
  }

  /** Most tenants have nothing to delete: then a sweep costs no statement for each, or that of their retention. */
  async #sweepIfOld(
    { sweepTenant, isAway }: Pick<TenantSweep, 'sweepTenant'> & { isAway: boolean },
    { tenantId, oldestDays }: TenantRows,
    signal?: AbortSignal,
  ): Promise<SweepOutcome> {
    const { tenants, log } = this.#options;
    try {
      if (oldestDays < leastRetentionDays) return 'done';
      const days = isAway ? maxRetentionDays : await tenants.daysOf(tenantId);
      if (days === null) return 'outage';
      if (oldestDays >= days) await sweepTenant(tenantId, days, signal);
      return 'done';
    } catch (error) {
      if (signal?.aborted === true) throw error;
      log.warn({ err: error, tenant_id: tenantId }, 'failed to delete old traces of a tenant');
      return 'failed';
    }
  }

  async #sweepRefusals(tenantId: string, olderThanDays: number, signal?: AbortSignal): Promise<void> {
    const batch = { tenantId, olderThanDays, limit: this.#batchSize };
    await this.#repeat('refused_deleted', () => this.#options.store.deleteRefusals(batch), signal);
  }

  async #sweepTraces(tenantId: string, retentionDays: number, signal?: AbortSignal): Promise<void> {
    const { store } = this.#options;
    const { blankAfterDays, deleteAfterDays } = traceAges(retentionDays);
    const batch = { tenantId, limit: this.#batchSize };
    const deleted = { ...batch, olderThanDays: deleteAfterDays };
    await this.#repeat('deleted', () => store.deleteTraces(deleted), signal);
    if (blankAfterDays === deleteAfterDays) return;
    for (let after: string | null = beforeFirst; after !== null;) {
      const blanked = await store.blankTraces({ ...batch, olderThanDays: blankAfterDays, after });
      this.#rows.inc({ action: 'blanked' }, blanked.rows);
      after = blanked.last;
      if (after !== null) await sleep(pauseMs, signal);
    }
  }

  /** Repeats a batch until one is not full. */
  async #repeat(action: string, work: () => Promise<number>, signal?: AbortSignal): Promise<void> {
    for (;;) {
      const rows = await work();
      this.#rows.inc({ action }, rows);
      if (rows < this.#batchSize) return;
      await sleep(pauseMs, signal);
    }
  }

  async #round(signal: AbortSignal): Promise<'retry' | false> {
    if (!(await this.sweep(signal))) return 'retry';
    this.#success.setToCurrentTime();
    return false;
  }
}
