import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { ensurePartition, hasPartition } from './partition-system-store.ts';

const everyMs = 6 * 3_600_000;
const defaultRetryMs = 10_000;
/** The current month, the next two, and the last one for late events. */
const months = [0, 1, 2, -1];

/** Creates the monthly partitions of traces well before their month begins. */
export class Partitions {
  readonly #pool: Pool;
  readonly #log: Logger;
  readonly #retryMs: number;
  readonly #loop = new BackgroundLoop(() => this.#round());

  /** `retryMs`: after a failure, 10 s. */
  constructor(pool: Pool, log: Logger, retryMs = defaultRetryMs) {
    this.#pool = pool;
    this.#log = log;
    this.#retryMs = retryMs;
  }

  /** Throws only when this month's partition is missing and can't be created. */
  async start(): Promise<void> {
    try {
      await this.#ensure();
      this.#loop.start(everyMs);
    } catch (error) {
      if (!(await hasPartition(this.#pool, firstDay(0)))) throw error;
      this.#loop.start(this.#postpone(error));
    }
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async #ensure(): Promise<void> {
    for (const offset of months) await ensurePartition(this.#pool, firstDay(offset));
  }

  async #round(): Promise<number> {
    return this.#ensure().then(
      () => everyMs,
      (error: unknown) => this.#postpone(error),
    );
  }

  #postpone(error: unknown): number {
    this.#log.warn({ err: error }, 'failed to create partitions of traces; retrying');
    return this.#retryMs;
  }
}

/** The first day of the month that many months from now: `2026-11-01`. */
function firstDay(offset: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1)).toISOString().slice(0, 10);
}
