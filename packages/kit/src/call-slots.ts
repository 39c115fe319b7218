/**
 * Limits calls under way by key: beyond the limit they wait in order. What waits is bounded by its callers: a run makes
 * few calls at once.
 */
export class CallSlots {
  readonly #max: number;
  readonly #taken = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Runs `work` in a slot of `key`. Throws the reason of `signal` if it aborts before there is one. */
  async run<Result>(key: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    await this.#take(key, signal);
    try {
      return await work();
    } finally {
      this.#free(key);
    }
  }

  async #take(key: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const taken = this.#taken.get(key) ?? 0;
    if (taken < this.#max) {
      this.#taken.set(key, taken + 1);
      return;
    }
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting);
    await new Promise<void>((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        waiting.delete(go);
        reject(signal.reason as Error);
      };
      waiting.add(go);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Passes the slot on to the first that waits. */
  #free(key: string): void {
    const waiting = this.#waiting.get(key);
    const [next] = waiting ?? [];
    if (waiting !== undefined && next !== undefined) {
      waiting.delete(next);
      next();
      return;
    }
    this.#waiting.delete(key);
    const taken = (this.#taken.get(key) ?? 1) - 1;
    if (taken === 0) this.#taken.delete(key);
    else this.#taken.set(key, taken);
  }
}
