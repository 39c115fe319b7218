import { sleep } from './clock.ts';

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
