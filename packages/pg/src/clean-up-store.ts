import { inBatches, PeriodicWork } from '@gatehouse/kit/background-loop';
import { cleanUpMs, cleanUpRows, minuteMs } from '@gatehouse/kit/bounds';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool, Queryable } from './pool.ts';

/** Rows of a table to be deleted once a condition holds. */
export interface OldRows {
  /** With its schema. */
  table: string;
  /** SQL served by an index, like `expires_at <= now()`. */
  where: string;
  /** A unique column. Default: the physical place of a row, which a role without `select` on the table can't read. */
  key?: string;
  /** Columns by which the oldest rows go first. Default: no order. */
  order?: string;
  /** Leaves rows other transactions have locked for the next round. The role needs the right to update. */
  skipLocked?: true;
  /** The longest time between two searches. Default: ten minutes. */
  everyMs?: number;
}

/**
 * Deletes up to `limit` old rows, and returns their number. The condition is repeated, because a row may be renewed
 * while the statement waits for its lock.
 */
export function deleteOldRows(
  db: Queryable,
  { table, where, key = 'ctid', order, skipLocked }: OldRows,
  limit: number = cleanUpRows,
): Promise<number> {
  const sorted = order === undefined ? '' : `order by ${order}`;
  const locked = skipLocked === true ? 'for update skip locked' : '';
  return db.count(
    `delete from ${table} where (${where}) and ${key} = any (array(
       select ${key} from ${table} where ${where} ${sorted} limit $1 ${locked}))`,
    [limit],
  );
}

/** The clean-up of a service: deletes old rows of its tables. `system` acts as `<service>_system`. */
export function cleanUp(log: Logger, system: Pool, tables: readonly OldRows[]): PeriodicWork[] {
  return tables.map((rows) => {
    const { table, everyMs = cleanUpMs } = rows;
    const round = inBatches(cleanUpRows, (limit) => deleteOldRows(system, rows, limit));
    // Soon after the start: a replica may not live for ten minutes.
    const firstMs = Math.min(everyMs, minuteMs);
    return new PeriodicWork({ task: `delete old rows of ${table}`, log, everyMs, firstMs, round });
  });
}
