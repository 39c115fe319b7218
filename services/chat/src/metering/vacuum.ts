import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { vacuumQueues } from '../store/vacuum-system-store.ts';

/** About 16 MB of rows that are gone. */
const worthwhileEnds = 4_000;

export interface VacuumOptions {
  pool: Pool;
  /** How many runs this process has ended so far. */
  countEnds: () => number;
  log: Logger;
  everyMs?: number;
}

/**
 * Keeps the tables of what is under way and what is not told yet as small as what is in them. Without it a busy minute,
 * which is how often autovacuum looks, leaves hundreds of megabytes, and each request pays for growing them.
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

  async #round(): Promise<number> {
    const { pool, countEnds, log } = this.#options;
    const ends = countEnds();
    if (ends - this.#endsThen >= worthwhileEnds) {
      this.#endsThen = ends;
      await vacuumQueues(pool).catch((error: unknown) =>
        log.warn({ err: error }, 'the space of ended runs was not taken back; autovacuum will'),
      );
    }
    return this.#everyMs;
  }
}
