import { callerSignal } from './caller-signal.ts';
import { monotonicMs } from './clock.ts';
import { AppError } from './errors.ts';

export interface FairQueueOptions {
  /** Work of one key running at the same time. */
  perKey: number;
  /** Work of all keys running at the same time. No limit if absent. */
  slots?: number;
  /** Waiting work of one key; more is refused. */
  maxWaiting: number;
  /** Waiting work of all keys; beyond it the last work of the key with most is refused. No limit if absent. */
  maxWaitingOfAll?: number;
  /**
   * The error of refused work; if absent, 429 `rate_limit_exceeded`. `isKeys` says whether the key has reached a limit of
   * its own, or else all keys together.
   */
  tooMany?: (isKeys: boolean) => Error;
  /** Work fails with `error()` after a wait of `ms`. If absent, work waits until its turn comes. */
  longestWait?: { ms: number; error: () => Error };
}

/** The party the work belongs to, mostly a tenant. All owner keys are one tenant: `null`. */
type Key = string | null;

interface Line {
  running: number;
  /** The sum of the times at which running work began. */
  begunAt: number;
  /** Time taken by ended work, in ms, beyond the time all keys with work have had. */
  usedMs: number;
  /** In order of arrival. */
  waiting: WaitingPiece[];
}

interface WaitingPiece {
  begin: () => void;
  refuse: (error: Error) => void;
}

/** Keys without work but with a remembered used time. The one longest without work is forgotten first. */
const maxRemembered = 1_000;

/**
 * Limits the running work of each key, and lets keys take turns at slots they share: waiting work begins in the order
 * of its key, and next comes the key with the shortest time of its work on the slots. So a tenant with many or long
 * pieces of work has the same share of the slots as one with few and short ones, and keys filling all places to wait
 * leave room for a key with less.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #slots: number;
  readonly #now: () => number;
  /** Keys with work, in order of arrival. */
  readonly #lines = new Map<Key, Line>();
  /** Keys without work at the moment, while others have some: their used time, and since when they are without. */
  readonly #remembered = new Map<Key, { usedMs: number; since: number }>();
  #running = 0;
  #waiting = 0;
  /** The time that work has had on the slots, by the number of keys with work at that time: each one's fair share so far. */
  #share = { ms: 0, at: 0 };

  constructor(options: FairQueueOptions, now: () => number = monotonicMs) {
    this.#options = options;
    this.#slots = options.slots ?? Infinity;
    this.#now = now;
  }

  /** Keys with work. */
  get size(): number {
    return this.#lines.size;
  }

  /** Waiting work of all keys. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Runs `work` when its turn has come. Throws the error of the options when too much work of the key waits, and the
   * reason of `signal` (by default the caller's, see `forCaller`) if it aborts before the turn has come.
   */
  async run<Result>(
    key: Key,
    work: () => Promise<Result>,
    signal: AbortSignal | undefined = callerSignal(),
  ): Promise<Result> {
    signal?.throwIfAborted();
    const line = this.#lines.get(key) ?? this.#join(key);
    let begun: number;
    if (this.#canBegin(line)) begun = this.#begin(line);
    else begun = await this.#turn(key, line, signal);
    try {
      return await work();
    } finally {
      const now = this.#pass();
      line.running -= 1;
      line.begunAt -= begun;
      line.usedMs += now - begun;
      this.#running -= 1;
      this.#leave(key, line);
      if (this.#waiting > 0) this.#next();
    }
  }

  /**
   * A new key starts level with the one with the least used time, and not below the fair share: else new keys would pass one
   * with more time for as long as they come. The remembered time of a key falls while the key has no work.
   */
  #join(key: Key): Line {
    const now = this.#pass();
    const remembered = this.#remembered.get(key) ?? { usedMs: 0, since: 0 };
    this.#remembered.delete(key);
    const left = remembered.usedMs - (now - remembered.since);
    const usedMs = Math.max(left, this.#leastUsed(now), this.#share.ms);
    const line = { running: 0, begunAt: 0, usedMs, waiting: [] };
    this.#lines.set(key, line);
    return line;
  }

  /** Removes a key without work. Remembers its used time while it matters to others. */
  #leave(key: Key, line: Line): void {
    if (line.running > 0 || line.waiting.length > 0) return;
    this.#lines.delete(key);
    if (this.#lines.size === 0) {
      this.#remembered.clear();
      this.#share.ms = 0;
      return;
    }
    this.#remembered.set(key, { usedMs: line.usedMs, since: this.#now() });
    if (this.#remembered.size <= maxRemembered) return;
    const [oldest] = this.#remembered.keys();
    if (oldest !== undefined) this.#remembered.delete(oldest);
  }

  /** Adds to the share before work begins or ends, and before keys come. Returns the time. */
  #pass(): number {
    const now = this.#now();
    const { ms, at } = this.#share;
    if (this.#lines.size > 0) this.#share.ms = ms + ((now - at) * this.#running) / this.#lines.size;
    this.#share.at = now;
    return now;
  }

  #leastUsed(now: number): number {
    let least = Infinity;
    for (const line of this.#lines.values()) least = Math.min(least, usedBy(line, now));
    return least === Infinity ? 0 : least;
  }

  #canBegin({ running }: Line): boolean {
    return this.#running < this.#slots && running < this.#options.perKey;
  }

  /** Returns the time at which the work begins. */
  #begin(line: Line): number {
    const now = this.#pass();
    line.running += 1;
    line.begunAt += now;
    this.#running += 1;
    return now;
  }

  #turn(key: Key, line: Line, signal: AbortSignal | undefined): Promise<number> {
    const { perKey, maxWaiting, longestWait } = this.#options;
    const { maxWaitingOfAll = Infinity, tooMany = tooManyInFlight } = this.#options;
    const isFull = line.waiting.length >= maxWaiting;
    if (isFull || (this.#waiting >= maxWaitingOfAll && !this.#makeRoom(line))) {
      const isKeys = line.running >= perKey || line.waiting.length >= Math.max(maxWaiting, 1);
      this.#leave(key, line);
      return Promise.reject(tooMany(isKeys));
    }
    this.#waiting += 1;
    return new Promise((resolve, reject) => {
      const giveUp = (error: Error): void => {
        stopWaiting();
        line.waiting.splice(line.waiting.lastIndexOf(waiting), 1);
        this.#waiting -= 1;
        this.#leave(key, line);
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
        this.#waiting -= 1;
        resolve(this.#begin(line));
      };
      const waiting = { begin, refuse: giveUp };
      line.waiting.push(waiting);
    });
  }

  /** Refuses the last work of the key with most waiting. False if no key has more than this one would have. */
  #makeRoom(line: Line): boolean {
    const { tooMany = tooManyInFlight } = this.#options;
    let longest = line.waiting;
    for (const { waiting } of this.#lines.values()) if (waiting.length > longest.length) longest = waiting;
    if (longest.length <= line.waiting.length + 1) return false;
    longest.at(-1)?.refuse(tooMany(true));
    return true;
  }

  /** Begins what may begin now. */
  #next(): void {
    for (let line = this.#nextLine(); line !== undefined; line = this.#nextLine())
      line.waiting.shift()?.begin();
  }

  /** The key with the least used time, of those with work free to begin. The first of equals wins. */
  #nextLine(): Line | undefined {
    if (this.#waiting === 0 || this.#running >= this.#slots) return undefined;
    const now = this.#now();
    let next: Line | undefined;
    let least = Infinity;
    for (const line of this.#lines.values()) {
      if (line.waiting.length === 0 || !this.#canBegin(line)) continue;
      const used = usedBy(line, now);
      if (used >= least) continue;
      least = used;
      next = line;
    }
    return next;
  }
}

/** Time used by the work of a key, running work included. */
function usedBy({ usedMs, running, begunAt }: Line, now: number): number {
  return usedMs + running * now - begunAt;
}

function tooManyInFlight(): AppError {
  return new AppError(
    'rate_limit_exceeded',
    'Too many requests of this kind are in flight for this tenant. Try again in 1 s.',
    { retryAfterMs: 1_000 },
  );
}
