/** What a snapshot says of the cluster's transactions (`pg_current_snapshot()`). */
export interface Horizon {
  /** The oldest id that is still running, or `next`. */
  oldest: bigint;
  /** One past the latest id that has ended. */
  next: bigint;
}

/** Beyond this, hours of one stuck transaction, every second one is forgotten. */
const maxSightings = 2_000;

/**
 * How long the oldest running transaction has held back what came after it. Roles without rights on other sessions can
 * not see when a transaction began, but anyone sees ids: one is at least as old as the first sight of a later one.
 */
export class TransactionAge {
  #sightings: { atMs: number; next: bigint }[] = [];

  /** The age in milliseconds at this sight; 0 when nothing runs. Short of the truth by a period of sightings at most. */
  see({ oldest, next }: Horizon, atMs: number): number {
    // Ids never go back, except where another cluster has taken the place of the one before.
    if (next < (this.#sightings.at(-1)?.next ?? 0n)) this.#sightings = [];
    this.#sightings.push({ atMs, next });
    this.#sightings = this.#sightings.filter((sighting) => sighting.next > oldest);
    const [first] = this.#sightings;
    if (this.#sightings.length > maxSightings)
      this.#sightings = this.#sightings.filter((_sighting, index) => index % 2 === 0);
    return first === undefined ? 0 : atMs - first.atMs;
  }
}
