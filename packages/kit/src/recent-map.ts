import { LRUCache } from 'lru-cache';

/**
 * The bound of a cache by the number of its entries, which takes memory as it fills. Its `max` takes all at once: 22
 * bytes an entry, measured.
 */
export function atMost(entries: number): { maxSize: number; sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}

/** Values by key. Beyond a number of them, the least recently used is dropped. */
export class RecentMap<Value extends object> {
  readonly #entries: LRUCache<string, Value>;

  constructor(max: number) {
    this.#entries = new LRUCache(atMost(max));
  }

  values(): Iterable<Value> {
    return this.#entries.values();
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  /** The value of a key, made if absent. */
  getOrMake(key: string, make: () => Value): Value {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#entries.set(key, made);
    return made;
  }
}
