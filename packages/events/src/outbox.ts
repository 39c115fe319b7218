import type { Queryable } from '@gatehouse/pg/pool';

interface OutboxRow {
  /** The id of the outbox row: a bigint as text. */
  id: string;
  partition: number;
}

/**
 * An event to publish, as CloudEvents JSON with the tenant as its key, which keeps the events of a tenant in order; or
 * the reason why its row cannot be published.
 */
export type OutboxEntry = OutboxRow & ({ key: string; json: string } | { json: null; problem: string });

export interface OutboxPage {
  entries: OutboxEntry[];
  /** Whether a limit ended the page: more rows may follow. */
  full: boolean;
}

/** Limits of one read. The row reaching `bytes` is part of the page. */
export interface PageLimits {
  rows: number;
  bytes: number;
}

export interface Wakeable {
  wake: () => void;
}

/** A table of events, each committed in the same transaction as the change it describes. */
export interface Outbox {
  /** The table without its schema; the label `outbox` of its metrics. */
  readonly name: string;
  /** Reads the oldest entries of these partitions, in the order in which they were written. */
  read(client: Queryable, partitions: readonly number[], limits: PageLimits): Promise<OutboxPage>;
  /** Counts the entries of these partitions, up to `most`. */
  count(client: Queryable, partitions: readonly number[], most: number): Promise<number>;
  /** The age of the oldest entry of these partitions in seconds; 0 without one. */
  ageSeconds(client: Queryable, partitions: readonly number[]): Promise<number>;
  /** The time of the oldest event its service still has to publish without the outbox; null without one. */
  heldAt(client: Queryable): Promise<Date | null>;
  /** Deletes published entries. */
  remove(client: Queryable, ids: readonly string[]): Promise<void>;
  /** Moves an unpublishable entry to the dead letters, in one transaction. */
  deadLetter(client: Queryable, id: string, reason: string): Promise<void>;
  /** Sets what `committed` wakes: the relay of this process. */
  publishedBy(relay: Wakeable): void;
  /** Call when something was committed to it. */
  committed(): void;
  /** Deletes dead letters older than 30 days, and the oldest beyond 1,000. */
  deleteOldDeadLetters(client: Queryable): Promise<void>;
}
