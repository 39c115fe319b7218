import type { TraceRow } from './stored-run.ts';
import type { Position } from './trace-cursor.ts';

export interface ChangeFilter {
  agentId: string | null;
  sessionId: string | null;
  user: string | null;
  status: string | null;
  channel: string | null;
  traceId: string | null;
}

export interface TraceChanges {
  rows: ChangeRow[];
  hasMore: boolean;
  /** The position where the next call continues. */
  position: Position;
  /** The database cluster the position belongs to. */
  cluster: string;
  now: Date;
}

export type ChangeRow = TraceRow & { change_transaction: string; change_number: string };

/** The runs of one tenant per call. */
export interface TraceStore {
  /**
   * The changes after a position, or since a time, in the order of their transactions. Changes are left for the next
   * call while a running transaction may still precede them, so no change is added before a cursor. When few changes
   * match the filter, a page may be empty although more follow.
   */
  changes(
    tenantId: string,
    after: (cluster: string) => Position | Date,
    filter: ChangeFilter & { limit: number; spans: boolean },
  ): Promise<TraceChanges>;

  /** Null without a run of this id. */
  find(tenantId: string, id: string): Promise<TraceRow | null>;
}
