import type { Pool } from '@gatehouse/pg/pool';

/** Whether this role has the right to vacuum, which exists since PostgreSQL 17. Without it, PostgreSQL logs each try. */
export async function mayVacuum(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ may: boolean }>(`
    select case when current_setting('server_version_num')::integer >= 170000
                then has_table_privilege('chat.run_log', 'maintain')
                     and has_table_privilege('chat.outbox', 'maintain')
                else false end as may`);
  return rows[0]?.may === true;
}

/**
 * Frees the space of deleted rows. Takes no lock others wait for: it skips tables being vacuumed, and does not
 * truncate.
 */
export async function vacuumQueues(pool: Pool): Promise<void> {
  await pool.query('vacuum (skip_locked, truncate false) chat.run_log, chat.outbox');
}
