import { BackgroundLoop, jittered } from '@gatehouse/kit/background-loop';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { Counter, type Registry } from '@gatehouse/kit/metrics';
import type { Pool } from '@gatehouse/pg/pool';
import { foldRuns } from './fold-system-store.ts';

export interface FoldingOptions {
  /** Acts as `analytics_system`. */
  pool: Pool;
  /** The events that this replica has stored since its start. */
  stored: () => number;
  log: Logger;
  registry: Registry;
}

const everyMs = 60_000;
/** A fold that another replica began less than so long ago goes on. */
const leastMs = 45_000;
/** A fold begins early after so many events: a summary reads the runs of its tenant in it one by one. */
const mostEvents = 100_000;
const checkMs = 1_000;

/**
 * Adds runs to the roll-ups once a minute, so that runs of the same key are one change of a row. Every replica runs it
 * without coordination: each fold is added once, in one transaction.
 */
export class Folding {
  readonly #options: FoldingOptions;
  readonly #runs: Counter;
  readonly #loop = new BackgroundLoop(() => this.#round());
  #dueAt = monotonicMs() + jittered(everyMs);
  #dueStored = mostEvents;

  constructor(options: FoldingOptions) {
    this.#options = options;
    this.#runs = new Counter({
      name: 'gatehouse_folded_runs_total',
      help: 'Runs added to the roll-ups of usage',
      registers: [options.registry],
    });
  }

  start(): void {
    this.#loop.start(checkMs);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async #round(): Promise<number> {
    const { pool, stored, log } = this.#options;
    const isEarly = stored() >= this.#dueStored;
    if (monotonicMs() < this.#dueAt && !isEarly) return checkMs;
    this.#dueAt = monotonicMs() + everyMs;
    this.#dueStored = stored() + mostEvents;
    try {
      this.#runs.inc(await foldRuns(pool, isEarly ? 0 : leastMs));
    } catch (error) {
      log.warn({ err: error }, 'failed to add runs to the roll-ups; retrying');
    }
    return checkMs;
  }
}
