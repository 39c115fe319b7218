import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { deleteExpiredResponses, deleteOldest, nextTenant } from './kept-response-system-store.ts';

const deletion = { firstMs: 60_000, everyMs: 600_000 };
/** With each go the keys of its items, 256 at most. */
const batchSize = 200;
/** Kept of each tenant at most: beyond it, the oldest are deleted within ten minutes. */
const mostOfTenant = { count: 100_000, bytes: 10 * 1024 * 1024 * 1024 };
const beforeAll = '00000000-0000-0000-0000-000000000000';

export interface ResponseCleaningOptions {
  pool: Pool;
  log: Logger;
  /** Less in tests. */
  most?: { count: number; bytes: number } | undefined;
  /** Shorter in tests. */
  firstMs?: number | undefined;
}

/** Deletes kept responses that have expired, and those of a tenant that keeps too many. */
export class ResponseCleaning {
  readonly #work: PeriodicWork;

  constructor({ pool, log, most = mostOfTenant, firstMs = deletion.firstMs }: ResponseCleaningOptions) {
    this.#work = new PeriodicWork({
      task: 'delete kept responses',
      log,
      firstMs,
      everyMs: deletion.everyMs,
      round: async () => {
        if ((await deleteExpiredResponses(pool, batchSize)) === batchSize) return true;
        for (let tenant = await nextTenant(pool, beforeAll); tenant !== null;) {
          if ((await deleteOldest(pool, tenant, { ...most, limit: batchSize })) === batchSize) continue;
          tenant = await nextTenant(pool, tenant);
        }
        return false;
      },
    });
  }

  start(): void {
    this.#work.start();
  }

  async stop(): Promise<void> {
    await this.#work.stop();
  }
}
