import { sleep } from './clock.ts';
import type { Logger } from './log.ts';

/** Work that comes round again and again, one round at a time, until it is stopped. */
export class BackgroundLoop {
  readonly #round: () => Promise<number>;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  /** `round` resolves with the milliseconds until the next one. It must not reject: what failed is its own to report. */
  constructor(round: () => Promise<number>) {
    this.#round = round;
  }

  /** Aborted as soon as the loop is to stop, for what a long round waits for. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  start(firstMs: number): void {
    this.#running = this.#run(firstMs);
  }

  /** Begins no further round, and resolves when the one under way is over. */
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

/** Half of this time at least and all of it at most: replicas that were started together need not work together. */
export function jittered(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}

export interface PeriodicWorkOptions {
  /** What the log says that failed: `failed to <task>`. */
  task: string;
  log: Logger;
  /** At most this long after the start, and after each round; half of it at least, so that replicas spread. */
  everyMs: number;
  /** Default: `everyMs`. */
  firstMs?: number;
  /** One round. True when there is more to do at once. What it throws is logged, and the work continues next time. */
  round: () => Promise<boolean>;
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
