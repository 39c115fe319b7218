import { sleep } from './clock.ts';
import type { Logger } from './log.ts';

/** Repeats work, one round at a time, until it is stopped. */
export class BackgroundLoop {
  readonly #round: () => Promise<number>;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  /**
   * `round` resolves with the delay until the next round in milliseconds. It must handle its own errors: it must not
   * reject.
   */
  constructor(round: () => Promise<number>) {
    this.#round = round;
  }

  /** Aborted when `stop` is called, so that a long round can stop waiting. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  start(firstMs: number): void {
    this.#running = this.#run(firstMs);
  }

  /** Starts no further round, and resolves when the current one ends. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(firstMs: number): Promise<void> {
    let waitMs = firstMs;
    for (;;) {
      await sleep(waitMs, this.signal).catch(() => undefined);
      if (this.signal.aborted) return;
      waitMs = await this.#round();
    }
  }
}

/** A random delay from half of `ms` up to `ms`, so that replicas started together do not work at the same moments. */
export function jittered(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}

export interface PeriodicWorkOptions {
  /** The task as the log names its failure: `failed to <task>`. */
  task: string;
  log: Logger;
  /** At most this long after the start, and after each round; half of it at least, so that replicas spread. */
  everyMs: number;
  /** Default: `everyMs`. */
  firstMs?: number;
  /**
   * One round. True when there is more to do at once. Errors that it throws are logged, and the work continues next
   * time.
   */
  round: () => Promise<boolean>;
}

/**
 * A round that deletes rows, or changes them, `batch` at a time. `some` returns how many it had: after a full batch there
 * may be more.
 */
export function inBatches(batch: number, some: (limit: number) => Promise<number>): () => Promise<boolean> {
  return async () => (await some(batch)) === batch;
}

/** Between two rounds when there is more to do. */
const pauseMs = 100;

/** Housekeeping of a service, such as deleting expired rows in batches. Every replica does it. */
export class PeriodicWork {
  readonly #loop: BackgroundLoop;
  readonly #firstMs: number;

  constructor({ task, log, everyMs, firstMs = everyMs, round }: PeriodicWorkOptions) {
    this.#firstMs = firstMs;
    this.#loop = new BackgroundLoop(async () => {
      const more = await round().catch((error: unknown) => {
        log.warn({ err: error }, `failed to ${task}`);
        return false;
      });
      return more ? pauseMs : jittered(everyMs);
    });
  }

  start(): void {
    this.#loop.start(jittered(this.#firstMs));
  }

  /** Resolves when the round in progress is over. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }
}
