import { BackgroundLoop, jittered } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { QuotaSystemStore } from './store/quota-system-store.ts';

const everyMs = 3_600_000;
/** Between batches. */
const pauseMs = 100;

/** Forgets what leases and settlements leave behind. Every replica does it; what is gone is gone. */
export class QuotaCleanup {
  readonly #loop: BackgroundLoop;

  constructor(quotas: QuotaSystemStore, log: Logger) {
    this.#loop = new BackgroundLoop(async () => {
      const more = await quotas.deleteOld().catch((error: unknown) => {
        log.warn({ err: error }, 'old settlements could not be deleted');
        return false;
      });
      return more ? pauseMs : jittered(everyMs);
    });
  }

  start(): void {
    this.#loop.start(jittered(everyMs));
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }
}
