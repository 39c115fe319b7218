import type { Queryable } from '@gatehouse/pg/pool';

interface OutboxRow {
  /** Of the outbox row: a bigint as text. */
  id: string;
  partition: number;
}

/**
 * An event that waits for publication: CloudEvents JSON and the tenant, whose events keep their order, as its key; or
 * the reason why its row can't be published.
 */
export type OutboxEntry = OutboxRow & ({ key: string; json: string } | { json: null; problem: string });

export interface OutboxPage {
  entries: OutboxEntry[];
  /** Whether a limit ended the page, so that older rows than the newest may be left. */
  full: boolean;
}

/** What one read returns at most. The row that reaches `bytes` is part of the page. */
export interface PageLimits {
  rows: number;
  bytes: number;
}

/** A service's table of events that were committed together with the change that they describe. */
export interface Outbox {
  /** The oldest entries of these partitions, in the order in which they were written. */
  read(client: Queryable, partitions: readonly number[], limits: PageLimits): Promise<OutboxPage>;
  /** How many entries these partitions have; counting stops at `most`. */
  count(client: Queryable, partitions: readonly number[], most: number): Promise<number>;
  /** How long the oldest entry of these partitions has waited, in seconds; 0 when there is none. */
  ageSeconds(client: Queryable, partitions: readonly number[]): Promise<number>;
  /** Deletes entries that have been published. */
  remove(client: Queryable, ids: readonly string[]): Promise<void>;
  /** Moves an entry that can't be published to the dead letters, in one transaction. */
  deadLetter(client: Queryable, id: string, reason: string): Promise<void>;
  /** Deletes dead letters that are older than 30 days, and the oldest beyond 1,000. */
  deleteOldDeadLetters(client: Queryable): Promise<void>;
}
