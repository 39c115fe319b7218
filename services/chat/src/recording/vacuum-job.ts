import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { mayVacuum, vacuumQueues } from './vacuum-system-store.ts';
import { vacuumEnds, vacuumRestFactor, vacuumRetryMs } from '../bounds.ts';

export interface VacuumOptions {
  pool: Pool;
  /** How many runs this process has ended so far. */
  countEnds: () => number;
  log: Logger;
  everyMs?: number;
}

/**
 * Keeps the tables of runs under way and of unpublished events small. Autovacuum checks once a minute, in which a busy
 * service deletes hundreds of megabytes of rows, and growing the tables slows down each request.
 */
export class Vacuum {
  readonly #options: VacuumOptions;
  readonly #everyMs: number;
  readonly #loop = new BackgroundLoop(() => this.#round());
  #endsThen = 0;

  constructor(options: VacuumOptions) {
    this.#options = options;
    this.#everyMs = options.everyMs ?? 2_000;
  }

  start(): void {
    this.#loop.start(this.#everyMs);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** The milliseconds until the next round. */
  async #round(): Promise<number> {
    const { pool, countEnds, log } = this.#options;
    const ends = countEnds();
    if (ends - this.#endsThen < vacuumEnds) return this.#everyMs;
    this.#endsThen = ends;
    const startedAt = monotonicMs();
    try {
      if (await mayVacuum(pool)) await vacuumQueues(pool);
    } catch (error) {
      log.warn({ err: error }, 'failed to vacuum the tables of runs; autovacuum will');
      return vacuumRetryMs;
    }
    return Math.max(this.#everyMs, vacuumRestFactor * (monotonicMs() - startedAt));
  }
}
