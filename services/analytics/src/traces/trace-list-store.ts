import type { ListTraces } from '@gatehouse/contract/traces';
import type { Period } from '../usage/period.ts';
import type { ListPosition } from './list-cursor.ts';
import type { TraceRow } from './stored-run.ts';
import type { TraceFilter } from './trace-filter.ts';

export type Sort = NonNullable<ListTraces['sort']>;

export interface ListRequest {
  period: Period;
  sort: Sort;
  filter: TraceFilter;
  /** Null for the first page. */
  after: ListPosition | null;
  limit: number;
}

export interface ListedTraces {
  rows: ListedRow[];
  /** The place where the next page begins after all of these rows; null at the end of the list. */
  next: ListPosition | null;
}

export type ListedRow = TraceRow & { list_key: string };

/** Lists of runs, or of refused requests, of one tenant. */
export interface TraceListStore {
  /**
   * A page in descending order. By start, a page reads a bounded number of rows: when few of them match the filter, it
   * may be short, or empty, although more follow. By cost and duration, the list has the first rows of the period, as
   * far as they match, and the list of runs under way has some, in any order.
   */
  list(tenantId: string, request: ListRequest): Promise<ListedTraces>;
}
