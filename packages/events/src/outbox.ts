import type { Queryable } from '@gatehouse/pg/pool';

/** An event that waits for publication. */
export interface OutboxEntry {
  /** Of the outbox row: a bigint as text. */
  id: string;
  partition: number;
  /** The tenant, whose events keep their order. */
  key: string;
  /** When the row was written, by the database's clock. */
  occurredAt: Date;
  /** CloudEvents JSON. */
  json: string;
}

/** A service's table of events that were committed together with what they tell of. */
export interface Outbox {
  /** The oldest entries of these partitions, in the order in which they were written. */
  read(client: Queryable, partitions: readonly number[], limit: number): Promise<OutboxEntry[]>;
  /** How many entries these partitions have; counting stops at `most`. */
  count(client: Queryable, partitions: readonly number[], most: number): Promise<number>;
  /** Deletes entries that have been published. */
  remove(client: Queryable, ids: readonly string[]): Promise<void>;
}
