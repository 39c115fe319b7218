import { hash } from 'node:crypto';
import { smallMembers, type Range } from '../wire/json-parts.ts';

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

/** The name in a line of results; null where there is none. */
export async function customIdIn(
  line: Buffer,
  members: ReadonlyMap<string, Range> | null,
  tenantId: string,
): Promise<string | null> {
  const { custom_id: id } = await smallMembers(line, members, { names: ['custom_id'], tenantId });
  return typeof id === 'string' ? id : null;
}
