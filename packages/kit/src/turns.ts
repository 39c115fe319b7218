import { AppError } from './errors.ts';
import { retryAfterHeaders } from './retry-after.ts';

export interface TurnsOptions {
  /** Work of one key that runs at the same time. */
  perKey: number;
  /** Work of all keys that runs at the same time. No limit if absent. */
  slots?: number;
  /** Work of one key that waits; more is refused. */
  maxWaiting: number;
  /** What refused work fails with; if absent, 429 `rate_limit_exceeded`. */
  tooMany?: () => Error;
  /** Work that has waited for `ms` fails with `error()`. If absent, work waits until its turn comes. */
  longestWait?: { ms: number; error: () => Error };
}

/** Whose work it is, mostly a tenant. All owner keys are one tenant: `null`. */
type Key = string | null;

interface Line {
  running: number;
  /** Callbacks that begin what waits, in order of arrival. */
  waiting: (() => void)[];
}

/**
 * Limits the work of each key that runs at the same time, and lets keys take turns at slots that they share: work that
 * waits begins in the order of its key, and keys alternate. So a tenant waits for one piece of work of each other tenant,
 * however much they bring.
 */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #slots: number;
  /** Keys with work, in the order in which their turns come. */
  readonly #lines = new Map<Key, Line>();
  #running = 0;
  #waiting = 0;

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#slots = options.slots ?? Infinity;
  }

  /** Keys with work. */
  get size(): number {
    return this.#lines.size;
  }

  /** Work that waits, of all keys. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Runs `work` when its turn has come. Throws what the options say when too much work of the key waits, and the reason
   * of `signal` if it aborts before the turn has come.
   */
  async run<Result>(key: Key, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    const line = this.#lines.get(key) ?? { running: 0, waiting: [] };
    this.#lines.set(key, line);
    if (this.#canBegin(line)) this.#begin(line);
    else await this.#turn(key, line, signal);
    try {
      return await work();
    } finally {
      line.running -= 1;
      this.#running -= 1;
      this.#putLast(key, line);
      this.#next();
    }
  }

  #canBegin({ running }: Line): boolean {
    return this.#running < this.#slots && running < this.#options.perKey;
  }

  #begin(line: Line): void {
    line.running += 1;
    this.#running += 1;
  }

  #turn(key: Key, line: Line, signal: AbortSignal | undefined): Promise<void> {
    const { maxWaiting, tooMany = tooManyInFlight, longestWait } = this.#options;
    if (line.waiting.length >= maxWaiting) return Promise.reject(tooMany());
    this.#waiting += 1;
    return new Promise((resolve, reject) => {
      const giveUp = (error: Error): void => {
        stopWaiting();
        line.waiting.splice(line.waiting.indexOf(begin), 1);
        this.#waiting -= 1;
        if (line.running === 0 && line.waiting.length === 0) this.#lines.delete(key);
        reject(error);
      };
      const onAbort = (): void => giveUp(signal?.reason as Error);
      const timer = longestWait && setTimeout(() => giveUp(longestWait.error()), longestWait.ms);
      signal?.addEventListener('abort', onAbort);
      const stopWaiting = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const begin = (): void => {
        stopWaiting();
        resolve();
      };
      line.waiting.push(begin);
    });
  }

  /** Puts a key at the end of the order; removes one without work. */
  #putLast(key: Key, line: Line): void {
    this.#lines.delete(key);
    if (line.running > 0 || line.waiting.length > 0) this.#lines.set(key, line);
  }

  /** Begins what may begin now, the key first that has waited longest for its turn. */
  #next(): void {
    for (const [key, line] of this.#lines) {
      if (this.#waiting === 0 || this.#running >= this.#slots) return;
      if (line.waiting.length === 0 || !this.#canBegin(line)) continue;
      this.#putLast(key, line);
      this.#begin(line);
      this.#waiting -= 1;
      line.waiting.shift()?.();
    }
  }
}

function tooManyInFlight(): AppError {
  return new AppError(
    'rate_limit_exceeded',
    'Too many requests of this kind are in flight for this tenant. Try again in 1 s.',
    { headers: retryAfterHeaders(1_000) },
  );
}
