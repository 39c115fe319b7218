import { settledWithin, sleep } from './clock.ts';
import type { Logger } from './log.ts';

/** The consequence of a failed round. */
export interface RoundFailure {
  report: (error: unknown) => void;
  /** Until the next round. A wake does not shorten it, since each would ask a database that is down. */
  pauseMs: number;
}

/** Repeats work, one round at a time, until it is stopped. */
export class BackgroundLoop {
  readonly #round: () => Promise<number>;
  readonly #failure: RoundFailure | undefined;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #woken = Promise.withResolvers<undefined>();

  /**
   * `round` resolves with the delay until the next round in milliseconds. It must not reject, unless `failure` says what
   * happens then.
   */
  constructor(round: () => Promise<number>, failure?: RoundFailure) {
    this.#round = round;
    this.#failure = failure;
  }

  /** Aborted when `stop` is called, to end the waits of a long round. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  start(firstMs: number): void {
    this.#running = this.#run(firstMs);
  }

  /** Starts the next round at once, or after the current one, which may have missed the reason. */
  wake(): void {
    this.#woken.resolve(undefined);
  }

  /** Starts no further round, and resolves when the current one ends. May be called again. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.wake();
    await this.#running;
  }

  async #run(firstMs: number): Promise<void> {
    let waitMs = firstMs;
    for (;;) {
      await settledWithin(this.#woken.promise, waitMs);
      if (this.signal.aborted) return;
      this.#woken = Promise.withResolvers();
      waitMs = await this.#round().catch((error: unknown) => this.#failed(error));
    }
  }

  async #failed(error: unknown): Promise<number> {
    if (this.#failure === undefined) throw error;
    if (this.signal.aborted) return 0;
    this.#failure.report(error);
    await sleep(this.#failure.pauseMs, this.signal).catch(() => undefined);
    return 0;
  }
}

/** A random delay from half of `ms` up to `ms`, so replicas started together do not work at the same moments. */
export function jittered(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}

export interface PeriodicWorkOptions {
  /** The task as the log names its failure: `failed to <task>`. */
  task: string;
  log: Logger;
  /** At most this long after the start, and after each round; half of it at least, to spread replicas. */
  everyMs: number;
  /** Default: `everyMs`. */
  firstMs?: number;
  /** The same after a failed round. Default: `everyMs`. */
  retryMs?: number;
  /**
   * One round. Resolves with true when there is more to do at once, and with `retry` when a part is left for `retryMs`.
   * Its errors are logged, except after `signal` has aborted, when the work stops.
   */
  round: (signal: AbortSignal) => Promise<boolean | 'retry'>;
}

/**
 * A round for deleting or changing rows, `batch` at a time. `some` returns how many it had: after a full batch there
 * may be more.
 */
export function inBatches(batch: number, some: (limit: number) => Promise<number>): () => Promise<boolean> {
  return async () => (await some(batch)) === batch;
}

/** Between two rounds when there is more to do. */
const pauseMs = 100;

/** Housekeeping of a service, like deleting expired rows in batches. Every replica does it. */
export class PeriodicWork {
  readonly #loop: BackgroundLoop;
  readonly #firstMs: number;

  constructor({ task, log, everyMs, firstMs = everyMs, retryMs = everyMs, round }: PeriodicWorkOptions) {
    this.#firstMs = firstMs;
    this.#loop = new BackgroundLoop(async () => {
      const outcome = await round(this.#loop.signal).catch((error: unknown) => {
        if (!this.#loop.signal.aborted) log.warn({ err: error }, `failed to ${task}`);
        return 'retry';
      });
      if (outcome === true) return pauseMs;
      return jittered(outcome === 'retry' ? retryMs : everyMs);
    });
  }

  /** `firstMs`: until the first round, in place of the option. */
  start(firstMs: number = this.#firstMs): void {
    this.#loop.start(jittered(firstMs));
  }

  /** Resolves when the round in progress is over. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }
}
