import { LRUCache } from 'lru-cache';
import { monotonicMs } from './clock.ts';
import { SharedCalls } from './shared-calls.ts';

export interface OutageCacheOptions<Value> {
  /** Maximum number of entries; the least recently used is evicted first. */
  max: number;
  /** Maximum bytes of all entries, for values whose size callers decide. Default: only `max` applies. */
  size?: { maxBytes: number; of: (value: Value) => number };
  /** How long a value is used without asking the source again. */
  freshMs: number;
  /** How long a value is used while the source is unavailable. */
  outageMs: number;
  /** Whether an error means that the source is unavailable. Other errors are passed to the caller. */
  isOutage: (error: unknown) => boolean;
  /**
   * Whether a value may be used during an outage (default: yes). Values that may not, such as "no such key", are kept
   * apart and never evict those that may.
   */
  survivesOutage?: (value: Value) => boolean;
}

interface Entry<Value> {
  value: Value;
  loadedAt: number;
  /** Until this time the old value is returned without another refresh, after a refresh failed. */
  graceUntil: number;
}

/** Delay before the next refresh after a failed one, so that an outage does not cost each request a timeout. */
const retryAfterMs = 1_000;

/**
 * Caches values of another service: fresh for seconds, and usable for minutes while that service is unavailable.
 * Concurrent look-ups of one key share one call.
 */
export class OutageCache<Value> {
  readonly #options: OutageCacheOptions<Value>;
  readonly #entries: LRUCache<string, Entry<Value>>;
  /** Entries that may not be used during an outage. Separate, so that guessed keys do not evict known ones. */
  readonly #passing: LRUCache<string, Entry<Value>>;
  readonly #calls = new SharedCalls<Value>();

  constructor(options: OutageCacheOptions<Value>) {
    this.#options = options;
    this.#entries = createEntries(options);
    this.#passing = createEntries(options);
  }

  /** The value if it is fresh. Synchronous, to save the hot path a microtask. */
  peek(key: string): Value | undefined {
    const entry = this.#entries.get(key) ?? this.#passing.get(key);
    if (entry === undefined) return undefined;
    const now = monotonicMs();
    return now - entry.loadedAt < this.#options.freshMs || now < entry.graceUntil ? entry.value : undefined;
  }

  /** The fresh value, or the result of `load`, which must throw when the source is unavailable. */
  async get(key: string, load: () => Promise<Value>): Promise<Value> {
    const fresh = this.peek(key);
    return fresh === undefined ? this.getNow(key, load) : fresh;
  }

  /** Like `get`, but calls `load` even if the value is fresh. */
  async getNow(key: string, load: () => Promise<Value>): Promise<Value> {
    return this.#calls.get(key, () => this.#load(key, load));
  }

  /** Whether the last answer for the key was one that may be used during an outage, however old it is. */
  knows(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Whether any entry could be used during an outage. */
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

/** Overhead of an entry in bytes, without key and value. */
const entryBytes = 200;

function createEntries<Value>({ max, size }: OutageCacheOptions<Value>): LRUCache<string, Entry<Value>> {
  if (size === undefined) return new LRUCache({ max });
  return new LRUCache({
    max,
    maxSize: size.maxBytes,
    sizeCalculation: ({ value }, key) => entryBytes + 2 * key.length + size.of(value),
  });
}
