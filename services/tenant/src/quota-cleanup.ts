import { BackgroundLoop, jittered } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { QuotaSystemStore } from './store/quota-system-store.ts';

const everyMs = 3_600_000;
/** Between batches. */
const pauseMs = 100;

/**
 * Deletes rows that leases and settlements leave behind, and logs tenants whose time zone PostgreSQL does not know. Every
 * replica does both.
 */
export class QuotaCleanup {
  readonly #loop: BackgroundLoop;

  constructor(quotas: QuotaSystemStore, log: Logger) {
    this.#loop = new BackgroundLoop(async () => {
      const more = await quotas.deleteOld().catch((error: unknown) => {
        log.warn({ err: error }, 'old settlements could not be deleted');
        return false;
      });
      if (more) return pauseMs;
      await warnOfUnknownTimezones(quotas, log);
      return jittered(everyMs);
    });
  }

  start(): void {
    this.#loop.start(jittered(everyMs));
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }
}

async function warnOfUnknownTimezones(quotas: QuotaSystemStore, log: Logger): Promise<void> {
  try {
    for (const { id, timezone } of await quotas.findUnknownTimezones())
      log.warn({ tenant_id: id, timezone }, 'time zone unknown to PostgreSQL: budgets of the tenant use UTC');
  } catch (error) {
    log.warn({ err: error }, 'failed to check the time zones of tenants');
  }
}
