import { LRUCache } from 'lru-cache';
import { monotonicMs } from './clock.ts';
import { SharedCalls } from './shared-calls.ts';

export interface OutageCacheOptions<Value> {
  /** Entries kept; the least recently used goes first. */
  max: number;
  /** The bytes that all entries may take together, for values whose size callers decide. Default: `max` alone counts. */
  size?: { maxBytes: number; of: (value: Value) => number };
  /** How long an answer is used without asking again. */
  freshMs: number;
  /** How long an answer is used while the source can't be reached. */
  outageMs: number;
  /** Whether an error means that the source is away. Other errors are the source's answer and reach the caller. */
  isOutage: (error: unknown) => boolean;
  /** Whether a value may be used during an outage, and so displaces nothing: a "no such key" may not. */
  survivesOutage?: (value: Value) => boolean;
}

interface Entry<Value> {
  value: Value;
  loadedAt: number;
  /** Until when a failed refresh lets the old value answer without another try. */
  graceUntil: number;
}

/** After a failed refresh the source is left alone this long, so that an outage doesn't cost each request a time-out. */
const retryAfterMs = 1_000;

/**
 * A cache for answers of another service: fresh for seconds, and still good for minutes while that service is away.
 * Concurrent look-ups of one key share one call.
 */
export class OutageCache<Value> {
  readonly #options: OutageCacheOptions<Value>;
  readonly #entries: LRUCache<string, Entry<Value>>;
  /** What an outage does not outlast, apart: guessed keys must not drive known ones out. */
  readonly #passing: LRUCache<string, Entry<Value>>;
  readonly #calls = new SharedCalls<Value>();

  constructor(options: OutageCacheOptions<Value>) {
    this.#options = options;
    this.#entries = createEntries(options);
    this.#passing = createEntries(options);
  }

  /** The value if it is fresh, without a promise: the hot path's way around a microtask. */
  peek(key: string): Value | undefined {
    const entry = this.#entries.get(key) ?? this.#passing.get(key);
    if (entry === undefined) return undefined;
    const now = monotonicMs();
    return now - entry.loadedAt < this.#options.freshMs || now < entry.graceUntil ? entry.value : undefined;
  }

  /** The fresh value, or what `load` brings from the source; `load` throws when the source can't be reached. */
  async get(key: string, load: () => Promise<Value>): Promise<Value> {
    const fresh = this.peek(key);
    return fresh === undefined ? this.getNow(key, load) : fresh;
  }

  /** As `get`, but asks the source even when a fresh value is there. */
  async getNow(key: string, load: () => Promise<Value>): Promise<Value> {
    return this.#calls.get(key, () => this.#load(key, load));
  }

  /** Whether anything could be answered while the source is away. */
  get coversOutage(): boolean {
    const oldest = monotonicMs() - this.#options.outageMs;
    return this.#entries.values().some((entry) => entry.loadedAt > oldest);
  }

  #keep(key: string, entry: Entry<Value>): void {
    const survives = this.#options.survivesOutage?.(entry.value) ?? true;
    const [home, other] = survives ? [this.#entries, this.#passing] : [this.#passing, this.#entries];
    home.set(key, entry);
    other.delete(key);
  }

  async #load(key: string, load: () => Promise<Value>): Promise<Value> {
    const askedAt = monotonicMs();
    try {
      const value = await load();
      this.#keep(key, { value, loadedAt: askedAt, graceUntil: 0 });
      return value;
    } catch (error) {
      const entry = this.#entries.get(key);
      const usable =
        entry !== undefined &&
        this.#options.isOutage(error) &&
        monotonicMs() - entry.loadedAt < this.#options.outageMs;
      if (!usable) throw error;
      entry.graceUntil = Math.min(monotonicMs() + retryAfterMs, entry.loadedAt + this.#options.outageMs);
      return entry.value;
    }
  }
}

/** What an entry takes beside its value. */
const entryBytes = 200;

function createEntries<Value>({ max, size }: OutageCacheOptions<Value>): LRUCache<string, Entry<Value>> {
  if (size === undefined) return new LRUCache({ max });
  return new LRUCache({
    max,
    maxSize: size.maxBytes,
    sizeCalculation: ({ value }, key) => entryBytes + 2 * key.length + size.of(value),
  });
}
