import type { Pool } from '@gatehouse/pg/pool';

/**
 * Makes the space of rows that are gone free for new ones. Waits for nobody: a table that is being vacuumed already is
 * passed over, and none is cut short, for which everybody else would have to wait.
 */
export async function vacuumQueues(pool: Pool): Promise<void> {
  await pool.query('vacuum (skip_locked, truncate false) chat.open_runs, chat.outbox');
}
