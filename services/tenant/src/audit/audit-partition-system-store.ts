import type { Pool } from '@gatehouse/pg/pool';

/** Creates the partitions of this month and the next three, unless they exist. */
export async function ensurePartitions(pool: Pool): Promise<void> {
  await pool.query('select tenant.ensure_audit_partitions()');
}

/** Drops the oldest partition if its last entry is older than `days`; returns its name, or null. */
export async function dropOldPartition(pool: Pool, days: number): Promise<string | null> {
  return (
    await pool.one<{ name: string | null }>('select tenant.drop_old_audit_partition($1) as name', [days])
  ).name;
}

/** Deletes some old entries that came too late for their month. Returns their number. */
export async function deleteStrays(pool: Pool, days: number): Promise<number> {
  return (await pool.one<{ count: number }>('select tenant.delete_stray_audit_entries($1) as count', [days]))
    .count;
}
