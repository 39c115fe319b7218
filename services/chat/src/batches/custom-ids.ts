import { hash } from 'node:crypto';

/** Names that clients give the requests of a batch. */
export class CustomIds {
  readonly #known = new Set<string>();

  get size(): number {
    return this.#known.size;
  }

  /** Returns whether it is a new one. */
  add(id: string): boolean {
    const { size } = this.#known;
    // Hashes have the same size, however long the names are.
    return this.#known.add(hash('sha256', id, 'base64').slice(0, 22)).size > size;
  }
}
