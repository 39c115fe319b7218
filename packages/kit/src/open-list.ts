import { Yallist } from 'yallist';

/**
 * Entries for what is open: requests, connections, calls. A linked list instead of a `Set`: a busy set replaces its
 * tables as it grows, and each old table keeps its entries in memory until a full garbage collection (ADR 21).
 */
export class OpenList<Entry> implements Iterable<Entry> {
  readonly #entries = new Yallist<Entry>();

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** Returns a function to remove the entry. Call it once. */
  add(entry: Entry): () => void {
    this.#entries.push(entry);
    const node = this.#entries.tail;
    return () => {
      if (node !== undefined) this.#entries.removeNode(node);
    };
  }

  [Symbol.iterator](): Iterator<Entry> {
    return this.#entries[Symbol.iterator]();
  }
}
