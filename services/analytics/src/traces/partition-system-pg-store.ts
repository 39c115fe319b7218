import type { Pool } from '@gatehouse/pg/pool';

/**
 * Creates the partition of a month; `month` is its first day, `2026-11-01`. Fails after half a second while another
 * transaction, like a backup, uses the table of traces.
 */
export async function ensurePartition(pool: Pool, month: string): Promise<void> {
  await pool.query('select analytics.ensure_partition($1::date)', [month]);
}

/** Whether the partition of a month exists. */
export async function hasPartition(pool: Pool, month: string): Promise<boolean> {
  const rows = await pool.all<{ present: boolean }>(
    `select to_regclass('analytics.traces_' || to_char($1::date, 'YYYY_MM')) is not null as present`,
    [month],
  );
  return rows[0]?.present ?? false;
}
