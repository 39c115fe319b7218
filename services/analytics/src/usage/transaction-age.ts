/** The transaction ids of a snapshot of the database cluster (`pg_current_snapshot()`). */
export interface Horizon {
  /** The id of the oldest running transaction, or `next`. */
  oldest: bigint;
  /** One more than the latest ended id. */
  next: bigint;
}

/** Above this number, after hours of one stuck transaction, every second sighting is dropped. */
const maxSightings = 2_000;

/**
 * How long the oldest running transaction has delayed the changes after it. A role without rights on other sessions
 * can't see when a transaction began, but it can see ids: a transaction is at least as old as the first sighting of a
 * later id.
 */
export class TransactionAge {
  #sightings: { atMs: number; next: bigint }[] = [];

  /** The age in milliseconds; 0 when no transaction runs. Too low by at most the time between two sightings. */
  see({ oldest, next }: Horizon, atMs: number): number {
    // Ids only decrease when another database cluster has replaced the previous one.
    if (next < (this.#sightings.at(-1)?.next ?? 0n)) this.#sightings = [];
    this.#sightings.push({ atMs, next });
    this.#sightings = this.#sightings.filter((sighting) => sighting.next > oldest);
    const [first] = this.#sightings;
    if (this.#sightings.length > maxSightings)
      this.#sightings = this.#sightings.filter((_sighting, index) => index % 2 === 0);
    return first === undefined ? 0 : atMs - first.atMs;
  }
}
