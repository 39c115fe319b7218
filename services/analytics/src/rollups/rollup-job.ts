import { jittered, PeriodicWork } from '@gatehouse/kit/background-loop';
import { minuteMs, retryMs } from '@gatehouse/kit/bounds';
import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { type Counter, counter, type Registry } from '@gatehouse/kit/metrics';
import type { RollupStore } from './rollup-system-store.ts';

export interface RollupOptions {
  store: RollupStore;
  /** The events this replica has stored since its start. */
  stored: () => number;
  /** The longest time between folds while all is well; half of it at least. Default: a minute. */
  everyMs?: number | undefined;
  log: Logger;
  registry: Registry;
}

const task = 'add runs to the roll-ups';
/** A fold begins early after so many events: a summary reads the runs of its tenant in it one by one. */
const mostEvents = 100_000;
const checkMs = 1_000;
/** The wait of events for a fold to close. Twice as long at each further attempt, until it does close. */
const shortestLockMs = 500;

/**
 * Adds runs to the roll-ups once a minute, to make runs of the same key one change of a row. Every replica runs it
 * without coordination: each fold is added once, in one transaction. Closes folds also while one is added, so they stay
 * small.
 */
export class RollupJob {
  readonly #options: RollupOptions;
  readonly #everyMs: number;
  readonly #runs: Counter;
  readonly #closing: PeriodicWork;
  readonly #adding: PeriodicWork;
  /** At once: a short-lived replica would otherwise close no fold. */
  #dueAt = monotonicMs();
  #dueStored = mostEvents;
  #lockMs = shortestLockMs;

  constructor(options: RollupOptions) {
    this.#options = options;
    this.#everyMs = options.everyMs ?? minuteMs;
    const timing = { task, log: options.log, everyMs: checkMs, retryMs };
    this.#closing = new PeriodicWork({ ...timing, round: () => this.#close() });
    this.#adding = new PeriodicWork({ ...timing, round: () => this.#add() });
    this.#runs = counter(
      options.registry,
      'gatehouse_folded_runs_total',
      'Runs added to the roll-ups of usage',
    );
  }

  start(): void {
    this.#closing.start();
    this.#adding.start();
  }

  /** Adds the remaining runs, for replicas of 0.3.0, which don't add them. Call it when no more are stored. */
  async stop(): Promise<void> {
    await this.#closing.stop();
    await this.#adding.stop();
    try {
      this.#runs.inc(await foldRuns(this.#options.store));
    } catch (error) {
      this.#options.log.warn({ err: error }, `failed to ${task}`);
    }
  }

  async #close(): Promise<boolean> {
    const stored = this.#options.stored();
    const isEarly = stored >= this.#dueStored;
    if (monotonicMs() < this.#dueAt && !isEarly) return false;
    // Another replica may have closed one.
    const leastMs = isEarly ? 0 : this.#everyMs / 2;
    if (await this.#options.store.closeFold({ leastMs, lockMs: this.#lockMs })) {
      this.#dueAt = monotonicMs() + jittered(this.#everyMs);
      this.#dueStored = stored + mostEvents;
      this.#lockMs = shortestLockMs;
    } else this.#lockMs *= 2;
    return false;
  }

  async #add(): Promise<boolean> {
    const runs = await this.#options.store.addClosedFold();
    if (typeof runs !== 'number') return false;
    this.#runs.inc(runs);
    return true;
  }
}

/** Adds all stored runs to the roll-ups, and returns their number. Waits five seconds for another replica. */
export async function foldRuns(store: RollupStore): Promise<number> {
  const until = monotonicMs() + 5_000;
  await store.closeFold();
  let sum = 0;
  for (;;) {
    const runs = await store.addClosedFold();
    if (runs === null || (runs === 'busy' && monotonicMs() > until)) return sum;
    if (runs === 'busy') await sleep(20);
    else sum += runs;
  }
}
