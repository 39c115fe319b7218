import type { Queryable } from '@gatehouse/pg/pool';

/** What the database knows about which of its transactions may still be under way. */
export interface ClockReading {
  /** Before the snapshot that the other two come from. */
  at: Date;
  /** No transaction that began to write before `at` has this id or a greater one. */
  nextTransaction: bigint;
  /** Every transaction with a lesser id is over. */
  oldestRunning: bigint;
}

/**
 * Takes the free ones of these partitions, for as long as the session lives: a session lock, since publishing keeps no
 * transaction open. Returns those that were taken.
 */
export async function lockPartitions(
  client: Queryable,
  outbox: string,
  partitions: readonly number[],
): Promise<number[]> {
  const { rows } = await client.query<{ partition: number }>({
    name: 'lock_partitions',
    text: `select partition from unnest($2::integer[]) as partition
           where pg_try_advisory_lock(hashtext($1), partition)`,
    values: [outbox, partitions],
  });
  return rows.map(({ partition }) => partition);
}

/** Has the server end this session, and with it its locks, when it runs no statement for so long. */
export async function limitIdleSession(client: Queryable, timeoutMs: number): Promise<void> {
  await client.query(`select set_config('idle_session_timeout', $1, false)`, [String(timeoutMs)]);
}

/** Any role may ask; no table is read. */
export async function readClock(client: Queryable): Promise<ClockReading> {
  const { rows } = await client.query<{ at: Date; next: string; oldest: string }>({
    name: 'read_clock',
    text: `select statement_timestamp() as at, pg_snapshot_xmax(snapshot)::text as next,
                  pg_snapshot_xmin(snapshot)::text as oldest
           from pg_current_snapshot() as snapshot`,
  });
  const [row] = rows;
  if (row === undefined) throw new Error('the database gave no time');
  return { at: row.at, nextTransaction: BigInt(row.next), oldestRunning: BigInt(row.oldest) };
}
