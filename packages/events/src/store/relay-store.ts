import type { Queryable } from '@gatehouse/pg/pool';

/** A reading of the database clock and of the transactions in progress. */
export interface ClockReading {
  /** Taken before the snapshot of the other two values. */
  at: Date;
  /** Transactions with their first write before `at` have smaller ids. */
  nextTransaction: bigint;
  /** All transactions with smaller ids have ended. */
  oldestRunning: bigint;
}

/**
 * Locks the free ones of these partitions until the session ends, and returns them. Session locks, because publishing
 * keeps no transaction open.
 */
export async function lockPartitions(
  client: Queryable,
  outbox: string,
  partitions: readonly number[],
): Promise<number[]> {
  const rows = await client.all<{ partition: number }>({
    name: 'lock_partitions',
    text: `select partition from unnest($2::integer[]) as partition
           where pg_try_advisory_lock(hashtext($1), partition)`,
    values: [outbox, partitions],
  });
  return rows.map(({ partition }) => partition);
}

/** Makes the server end this session, and release its locks, when it runs no statement for `timeoutMs`. */
export async function limitIdleSession(client: Queryable, timeoutMs: number): Promise<void> {
  await client.query(`select set_config('idle_session_timeout', $1, false)`, [String(timeoutMs)]);
}

/** Needs no privileges; reads no table. */
export async function readClock(client: Queryable): Promise<ClockReading> {
  const row = await client.first<{ at: Date; next: string; oldest: string }>({
    name: 'read_clock',
    text: `select statement_timestamp() as at, pg_snapshot_xmax(snapshot)::text as next,
                  pg_snapshot_xmin(snapshot)::text as oldest
           from pg_current_snapshot() as snapshot`,
  });
  if (row === null) throw new Error('the database returned no clock reading');
  return { at: row.at, nextTransaction: BigInt(row.next), oldestRunning: BigInt(row.oldest) };
}
