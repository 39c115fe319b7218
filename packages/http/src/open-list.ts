import type { EventEmitter } from 'node:events';
import { Yallist } from 'yallist';

/**
 * Entries for streams that are open. A linked list instead of a `Set`: a busy set replaces its tables as it grows, and
 * each old table keeps its entries in memory until a full garbage collection (ADR 21).
 */
export class OpenList<Entry> implements Iterable<Entry> {
  readonly #entries = new Yallist<Entry>();

  /** Keeps the entry until the stream closes; not at all if it has closed. */
  add(stream: EventEmitter & { readonly closed?: boolean }, entry: Entry): void {
    if (stream.closed === true) return;
    this.#entries.push(entry);
    const node = this.#entries.tail;
    stream.once('close', () => {
      if (node !== undefined) this.#entries.removeNode(node);
    });
  }

  [Symbol.iterator](): Iterator<Entry> {
    return this.#entries[Symbol.iterator]();
  }
}
