import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { hourMs, minuteMs } from '@gatehouse/kit/bounds';
import { sleep } from '@gatehouse/kit/clock';
import { beforeFirst } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { refusedBatch } from '../bounds.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import type { RefusedDaysStore } from './refused-days-system-store.ts';

export interface RefusedDaysOptions {
  store: RefusedDaysStore;
  zones: Pick<TenantSettingsClient, 'zoneOf'>;
  log: Logger;
}

/** Tenants found by one statement. */
const tenantsPerPage = 100;
/** Pause between two batches, to leave the disk to other writers. */
const pauseMs = 20;

/**
 * Adds up counts of refused requests by day, two days later: refused clients add no rows without end. Every
 * replica runs it without coordination.
 */
export class RefusedDays {
  readonly #options: RefusedDaysOptions;
  readonly #work: PeriodicWork;

  constructor(options: RefusedDaysOptions) {
    this.#options = options;
    const round = async (signal: AbortSignal): Promise<'retry' | false> =>
      (await this.addUp(signal)) ? false : 'retry';
    this.#work = new PeriodicWork({
      ...{ task: 'add up refused requests by day', log: options.log, round },
      ...{ firstMs: minuteMs, everyMs: hourMs, retryMs: 10 * minuteMs },
    });
  }

  start(): void {
    this.#work.start();
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  /** Returns false if a tenant has to be retried soon. Throws when `signal` aborts. */
  async addUp(signal?: AbortSignal): Promise<boolean> {
    let complete = true;
    for (let after = beforeFirst; ;) {
      const tenants = await this.#options.store.nextTenantsOfRefusals(after, tenantsPerPage);
      for (const tenantId of tenants) complete = (await this.#addUpOne(tenantId, signal)) && complete;
      const last = tenants.at(-1);
      if (last === undefined || tenants.length < tenantsPerPage) return complete;
      after = last;
    }
  }

  async #addUpOne(tenantId: string, signal?: AbortSignal): Promise<boolean> {
    const { store, zones, log } = this.#options;
    try {
      const zone = await zones.zoneOf(tenantId);
      if (zone === null) return false;
      while ((await store.addUpRefusals(tenantId, zone)) === refusedBatch) await sleep(pauseMs, signal);
      return true;
    } catch (error) {
      if (signal?.aborted === true) throw error;
      log.warn({ err: error, tenant_id: tenantId }, 'failed to add up refused requests of a tenant');
      return false;
    }
  }
}
