import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { ensurePartition } from '../store/ingest-system-store.ts';

const everyMs = 6 * 3_600_000;
const retryMs = 10_000;
/** The last month, for what arrives late, this one, and two ahead. */
const months = [-1, 0, 1, 2];

/** Makes the monthly partitions of traces well before their month begins. */
export class Partitions {
  readonly #pool: Pool;
  readonly #log: Logger;
  readonly #loop = new BackgroundLoop(() => this.#round());

  constructor(pool: Pool, log: Logger) {
    this.#pool = pool;
    this.#log = log;
  }

  async start(): Promise<void> {
    await this.#ensure();
    this.#loop.start(everyMs);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async #ensure(): Promise<void> {
    const now = new Date();
    for (const offset of months) {
      const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1));
      await ensurePartition(this.#pool, first.toISOString().slice(0, 10));
    }
  }

  async #round(): Promise<number> {
    return this.#ensure().then(
      () => everyMs,
      (error: unknown) => {
        this.#log.warn({ err: error }, 'partitions could not be made; it is tried again');
        return retryMs;
      },
    );
  }
}
