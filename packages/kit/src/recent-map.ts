import { LRUCache } from 'lru-cache';

/**
 * The bound of a cache by the number of its entries, which takes memory as it fills. Its `max` takes all at once: 22
 * bytes an entry, measured.
 */
export function atMost(entries: number): { maxSize: number; sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}

/** Values by key. Beyond a number of them, or a sum of their sizes, the least recently used is dropped. */
export class RecentMap<Value extends object> {
  readonly #entries: LRUCache<string, Value>;

  /** `sizeOf`: an integer above 0; by default each value counts 1. */
  constructor(max: number, sizeOf?: (value: Value) => number) {
    this.#entries = new LRUCache(
      sizeOf === undefined ? atMost(max) : { maxSize: max, sizeCalculation: sizeOf },
    );
  }

  values(): Iterable<Value> {
    return this.#entries.values();
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: Value): void {
    this.#entries.set(key, value);
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
