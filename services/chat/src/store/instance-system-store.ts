import type { Pool } from '@gatehouse/pg/pool';

export async function insertInstance(pool: Pool, id: string): Promise<void> {
  await pool.query('insert into chat.instances (id) values ($1)', [id]);
}

/** Says that the instance lives; false when it has been declared dead and so may start nothing more. */
export async function touchInstance(pool: Pool, id: string): Promise<boolean> {
  const result = await pool.query(
    'update chat.instances set heartbeat_at = now() where id = $1 and dead_at is null',
    [id],
  );
  return result.rowCount === 1;
}

/** Declares every instance dead whose last heartbeat is older than `silentMs`, by the database clock. */
export async function markSilentInstancesDead(pool: Pool, silentMs: number): Promise<string[]> {
  const result = await pool.query<{ id: string }>(
    `update chat.instances set dead_at = now()
     where dead_at is null and heartbeat_at < now() - $1 * interval '1 millisecond'
     returning id`,
    [silentMs],
  );
  return result.rows.map((row) => row.id);
}

/** Forgets an instance that stopped in order, and those dead for a day. */
export async function deleteInstance(pool: Pool, id: string): Promise<void> {
  await pool.query(`delete from chat.instances where id = $1 or dead_at < now() - interval '1 day'`, [id]);
}
