import type { Pool } from '@gatehouse/pg/pool';

/** Whether this role has the right to, which PostgreSQL has known since version 17. Without it, each try is in its log. */
export async function mayVacuum(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ may: boolean }>(`
    select case when current_setting('server_version_num')::integer >= 170000
                then has_table_privilege('chat.open_runs', 'maintain')
                     and has_table_privilege('chat.outbox', 'maintain')
                else false end as may`);
  return rows[0]?.may === true;
}

/**
 * Makes the space of rows that are gone free for new ones. Waits for nobody: a table that is being vacuumed already is
 * passed over, and none is cut short, for which everybody else would have to wait.
 */
export async function vacuumQueues(pool: Pool): Promise<void> {
  await pool.query('vacuum (skip_locked, truncate false) chat.open_runs, chat.outbox');
}
