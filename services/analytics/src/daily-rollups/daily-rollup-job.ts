import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { minuteMs } from '@gatehouse/kit/bounds';
import { sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { beforeFirst } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { type Counter, counter, type Registry } from '@gatehouse/kit/metrics';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import type {
  DailyRollupStore,
  SettledSizes,
  TenantDay,
  TenantRollUps,
} from './daily-rollup-system-store.ts';

export interface SettlingOptions {
  store: DailyRollupStore;
  zones: Pick<TenantSettingsClient, 'zoneOf'>;
  log: Logger;
  registry: Registry;
  sizes?: Partial<SettledSizes> | undefined;
}

/** The longest time from one round to the next, and to the first; the shortest is half of it. */
const everyMs = minuteMs;
/** The same after an outage of the database. */
const retryMs = 10 * minuteMs;
const defaultSizes: SettledSizes = { least: 500, most: 50_000 };
/** Tenants found by one statement. */
const tenantsPerPage = 100;
/** Pause between two parts, to leave the disk to other writers. */
const pauseMs = 20;

/**
 * Adds up past days, part by part, tenants in turns. Every replica runs it without coordination: a lock gives each part
 * to one replica.
 */
export class DailyRollupJob {
  readonly #options: SettlingOptions;
  readonly #sizes: SettledSizes;
  readonly #days: Counter<'outcome'>;
  readonly #work: PeriodicWork;
  /** Days before this one are noted for all tenants: a count into one of them notes it again. */
  #notedUntil = new Date(0);

  constructor(options: SettlingOptions) {
    this.#options = options;
    const { log } = options;
    const round = (signal: AbortSignal): Promise<false> => this.settle(signal);
    this.#work = new PeriodicWork({ task: 'add up days', log, everyMs, retryMs, round });
    this.#sizes = { ...defaultSizes, ...options.sizes };
    this.#days = counter(
      options.registry,
      'gatehouse_settled_days_total',
      'Days of tenants added up (settled), with too few rows (small), or left because they took too long (left)',
      ['outcome'],
    );
    for (const outcome of ['settled', 'small', 'left']) this.#days.inc({ outcome }, 0);
  }

  start(): void {
    this.#work.start();
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  /** Settles all past days, or stops when other replicas work on the rest. Throws when `signal` aborts. */
  async settle(signal?: AbortSignal): Promise<false> {
    await this.#note(signal);
    while (await this.#turn(signal));
    return false;
  }

  async #note(signal?: AbortSignal): Promise<void> {
    const { store } = this.#options;
    const until = await store.findOpenDay();
    if (until <= this.#notedUntil) return;
    for (let after: string | undefined = beforeFirst; after !== undefined;) {
      const page: TenantRollUps[] = await store.nextTenants(after, tenantsPerPage);
      for (const { tenantId, hasSettledDays } of page) {
        for (let from: Date | null = this.#notedUntil; from !== null;)
          from = await store.noteDays({ tenantId, from, until });
        // Most tenants have no settled day: their zones are not read.
        const zone = hasSettledDays ? await this.#zoneOf(tenantId) : null;
        if (zone !== null) await store.changeCuts(tenantId, zone);
        await sleep(pauseMs, signal);
      }
      after = page.at(-1)?.tenantId;
    }
    this.#notedUntil = until;
  }

  /** Works on a part of a day of each tenant with a due day. False when there was nothing to do. */
  async #turn(signal?: AbortSignal): Promise<boolean> {
    let isBusy = false;
    for (let after = beforeFirst; ;) {
      const due = await this.#options.store.nextDueDay(after);
      if (due === null) return isBusy;
      if (await this.#settlePart(due)) isBusy = true;
      after = due.tenantId;
      await sleep(pauseMs, signal);
    }
  }

  async #settlePart(due: TenantDay): Promise<boolean> {
    const { store, log } = this.#options;
    try {
      const zone = await this.#zoneOf(due.tenantId);
      if (zone === null) return false;
      const state = await store.settlePart(due, { ...this.#sizes, timezone: zone });
      if (state === 'settled' || state === 'small') this.#days.inc({ outcome: state });
      return state !== null;
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'query_timeout')) throw error;
      log.warn(
        { err: error, tenant_id: due.tenantId, day: due.day },
        'a day took too long to add up; left it',
      );
      await store.leaveDay(due);
      this.#days.inc({ outcome: 'left' });
      return true;
    }
  }

  /** Null if the zone of the tenant can't be read: then its days wait for the next round. */
  async #zoneOf(tenantId: string): Promise<string | null> {
    const { zones, log } = this.#options;
    return zones.zoneOf(tenantId).catch((error: unknown) => {
      log.warn({ err: error, tenant_id: tenantId }, 'failed to read the time zone of a tenant');
      return null;
    });
  }
}
