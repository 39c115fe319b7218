import { LRUCache } from 'lru-cache';
import type { ChangeWatch } from './change-watch.ts';
import { monotonicMs } from './clock.ts';
import { AppError } from './errors.ts';
import { atMost } from './recent-map.ts';
import { SharedCalls } from './shared-calls.ts';
import { TenantCache } from './tenant-cache.ts';

export interface OutageCacheOptions<Value> {
  /** Maximum number of entries; the least recently used is evicted first. */
  max: number;
  /** Maximum bytes of all entries, for values of a size decided by callers. Default: only `max` applies. */
  size?: { maxBytes: number; bytesOf: (value: Value) => number };
  /** The tenant of a key: once all bytes are in use, the tenant with the most makes room. Default: all share them. */
  tenantOf?: (key: string) => string;
  /** How long a value is used without asking the source again. */
  freshMs: number;
  /** How long a value is used while the source is unavailable. */
  outageMs: number;
  /** Whether an error means an outage of the source. Other errors are passed to the caller. */
  isOutage: (error: unknown) => boolean;
  /** Reports changes of the source: values usable during an outage stay fresh until they change. */
  watch?: WatchOptions<Value>;
  /** Whether a value may be used during an outage (default: yes), unlike "no such key". */
  survivesOutage?: (value: Value) => boolean;
  /**
   * Whether values like this one can be made up by clients in any number. They are kept apart, with as much memory again,
   * and never evict others. Default: those unusable during an outage.
   */
  isApart?: (value: Value) => boolean;
}

export interface WatchOptions<Value> {
  changes: ChangeWatch;
  /**
   * How long a value is used at most, without a change, before the source is asked again. Each is used for a random time
   * from four fifths of it on, so that values loaded together, after a start, end apart.
   */
  longestMs: number;
  /** The things a value depends on, by their names in the watch; null for a value outside the watch. */
  subjectsOf: (value: Value, key: string) => readonly string[] | null;
}

interface Entry<Value> {
  value: Value;
  /** The start of the call with this answer. */
  loadedAt: number;
  /** When it was known to be current: since then it may be used during an outage. */
  currentAt: number;
  /** Null if no watch covers it. */
  subjects: readonly string[] | null;
  /** Its part of the watch's `longestMs`. */
  longestMs: number;
  /** Until this time the old value is returned without another refresh, after a refresh failed. */
  graceUntil: number;
}

/** Delay before the next refresh after a failed one, so an outage does not cost each request a timeout. */
const retryAfterMs = 1_000;

/**
 * Caches values of another service: fresh for seconds, and usable for minutes during an outage of the service.
 * Concurrent look-ups of one key share one call.
 */
export class OutageCache<Value> {
  readonly #options: OutageCacheOptions<Value>;
  readonly #entries: Entries<Value>;
  /** Entries kept apart. */
  readonly #others: Entries<Value>;
  readonly #calls = new SharedCalls<Value>();

  constructor(options: OutageCacheOptions<Value>) {
    this.#options = options;
    this.#entries = createEntries(options);
    this.#others = createEntries(options);
  }

  /** The value if it is fresh. Synchronous, to save the hot path a microtask. */
  peek(key: string): Value | undefined {
    const entry = this.#find(key);
    if (entry === undefined) return undefined;
    return this.#isFresh(entry) ? entry.value : undefined;
  }

  #find(key: string): Entry<Value> | undefined {
    return this.#entries.get(key) ?? this.#others.get(key);
  }

  #isFresh(entry: Entry<Value>): boolean {
    const { freshMs, watch } = this.#options;
    const now = monotonicMs();
    const state = this.#stateOf(entry);
    if (state === 'changed') return false;
    if (now < entry.graceUntil) return true;
    const age = now - entry.loadedAt;
    if (watch === undefined || state === 'unknown') return age < freshMs;
    entry.currentAt = Math.max(entry.currentAt, watch.changes.heardAt);
    return age < entry.longestMs;
  }

  #stateOf({ subjects, loadedAt }: Entry<Value>): 'changed' | 'current' | 'unknown' {
    const changes = this.#options.watch?.changes;
    return changes === undefined || subjects === null ? 'unknown' : changes.stateOf(subjects, loadedAt);
  }

  /** Whether an entry may be used during an outage: not after a known change of it, like a revoked key. */
  #coversOutage(entry: Entry<Value>): boolean {
    const isRecent = monotonicMs() - entry.currentAt < this.#options.outageMs;
    return isRecent && this.#survivesOutage(entry) && this.#stateOf(entry) !== 'changed';
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

  /** Whether there is an answer for the key, however old it is, that is not kept apart. */
  knows(key: string): boolean {
    return this.#entries.get(key) !== undefined;
  }

  /** Whether any entry could be used during an outage. */
  get coversOutage(): boolean {
    return Iterator.from(this.#entries.values()).some((entry) => this.#coversOutage(entry));
  }

  #keep(key: string, entry: Entry<Value>): void {
    const isApart = this.#options.isApart?.(entry.value) ?? !this.#survivesOutage(entry);
    const [home, other] = isApart ? [this.#others, this.#entries] : [this.#entries, this.#others];
    home.set(key, entry);
    other.delete(key);
  }

  #survivesOutage({ value }: Entry<Value>): boolean {
    return this.#options.survivesOutage?.(value) ?? true;
  }

  async #load(key: string, load: () => Promise<Value>): Promise<Value> {
    const startedAt = monotonicMs();
    try {
      const value = await load();
      const { watch } = this.#options;
      this.#keep(key, {
        ...{ value, loadedAt: startedAt, currentAt: startedAt, graceUntil: 0 },
        subjects: watch?.subjectsOf(value, key) ?? null,
        longestMs: (watch?.longestMs ?? 0) * (1 - Math.random() / 5),
      });
      return value;
    } catch (error) {
      // The source's own answer, such as 404 of a deleted agent, replaces the value for outages too.
      if (isRefusal(error) && !this.#options.isOutage(error))
        for (const entries of [this.#entries, this.#others]) entries.delete(key);
      const entry = this.#find(key);
      const usable = entry !== undefined && this.#options.isOutage(error) && this.#coversOutage(entry);
      if (!usable) throw error;
      entry.graceUntil = Math.min(monotonicMs() + retryAfterMs, entry.currentAt + this.#options.outageMs);
      return entry.value;
    }
  }
}

/** Whether an error says something of the value. 429 says that the source was not asked. */
function isRefusal(error: unknown): boolean {
  return error instanceof AppError && error.status < 500 && error.status !== 429;
}

/** Overhead of an entry in bytes, without key and value. */
const entryBytes = 200;

interface Entries<Value> {
  get(key: string): Entry<Value> | undefined;
  set(key: string, entry: Entry<Value>): unknown;
  delete(key: string): unknown;
  values(): Iterable<Entry<Value>>;
}

function createEntries<Value>({ max, size, tenantOf }: OutageCacheOptions<Value>): Entries<Value> {
  if (size === undefined) return new LRUCache(atMost(max));
  const leastBytes = Math.floor(size.maxBytes / max);
  if (tenantOf !== undefined) return entriesOfTenants(size, { leastBytes, tenantOf });
  return new LRUCache({
    maxSize: size.maxBytes,
    // With the least that an entry counts for, `max` entries fill the bytes.
    sizeCalculation: ({ value }, key) =>
      Math.max(entryBytes + 2 * key.length + size.bytesOf(value), leastBytes),
  });
}

function entriesOfTenants<Value>(
  { maxBytes, bytesOf }: NonNullable<OutageCacheOptions<Value>['size']>,
  { leastBytes, tenantOf }: { leastBytes: number; tenantOf: (key: string) => string },
): Entries<Value> {
  const entries = new TenantCache<Entry<Value>>({
    ...{ maxBytes, maxBytesPerTenant: maxBytes },
    bytesOf: ({ value }) => Math.max(bytesOf(value), leastBytes),
  });
  return {
    get: (key) => entries.get(tenantOf(key), key),
    set: (key, entry) => entries.set(tenantOf(key), key, entry),
    delete: (key) => entries.delete(tenantOf(key), key),
    values: () => entries.values(),
  };
}
