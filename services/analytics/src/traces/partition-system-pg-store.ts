import type { Pool } from '@gatehouse/pg/pool';
import type { PartitionStore } from './partition-system-store.ts';

/** `pool` acts as `analytics_system`. */
export function partitionPgStore(pool: Pool): PartitionStore {
  return {
    ensurePartition: (month) => ensurePartition(pool, month),
    hasPartition: (month) => hasPartition(pool, month),
  };
}

/** Fails after half a second while another transaction, like a backup, uses the table of traces. */
async function ensurePartition(pool: Pool, month: string): Promise<void> {
  await pool.query('select analytics.ensure_partition($1::date)', [month]);
}

async function hasPartition(pool: Pool, month: string): Promise<boolean> {
  const rows = await pool.all<{ present: boolean }>(
    `select to_regclass('analytics.traces_' || to_char($1::date, 'YYYY_MM')) is not null as present`,
    [month],
  );
  return rows[0]?.present ?? false;
}
