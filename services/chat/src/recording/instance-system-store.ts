import type { Beat } from '@gatehouse/pg/heartbeat';
import type { Pool } from '@gatehouse/pg/pool';

const beatAt = '(extract(epoch from heartbeat_at) * 1000)::float8 as beat_at';

/** Returns the time of the first heartbeat: the database's, in milliseconds since the epoch. */
export async function insertInstance(pool: Pool, id: string): Promise<number> {
  const result = await pool.query<{ beat_at: number }>(
    `insert into chat.instances (id) values ($1) returning ${beatAt}`,
    [id],
  );
  return result.rows[0]?.beat_at ?? 0;
}

/** A row of `beatOf`. */
export interface BeatRow {
  beat_at: number;
}

/** Writes a heartbeat and returns its time; no row if the instance was declared dead, after which it may start nothing. */
export function beatOf(id: string): Beat {
  return {
    text: `update chat.instances set heartbeat_at = now() where id = $1 and dead_at is null returning ${beatAt}`,
    values: [id],
  };
}

/**
 * Declares every instance dead with a last heartbeat older than `silentMs`, by the database clock. Does nothing later
 * than `validMs` after `judgeBeat`, the caller's own last heartbeat: a database executes the statement after hanging,
 * when all instances look dead.
 */
export async function markSilentInstancesDead(
  pool: Pool,
  { silentMs, judgeBeat, validMs }: { silentMs: number; judgeBeat: number; validMs: number },
): Promise<string[]> {
  const result = await pool.query<{ id: string }>(
    `update chat.instances set dead_at = now()
     where dead_at is null and heartbeat_at < now() - $1 * interval '1 millisecond'
       and clock_timestamp() < to_timestamp($2::float8 / 1000) + $3 * interval '1 millisecond'
     returning id`,
    [silentMs, judgeBeat, validMs],
  );
  return result.rows.map((row) => row.id);
}

/** Other instances with a last heartbeat newer than `silentMs`, up to 1,000. */
export async function findLive(pool: Pool, id: string, silentMs: number): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from chat.instances
     where id <> $1 and dead_at is null and heartbeat_at > now() - $2 * interval '1 millisecond' limit 1000`,
    [id, silentMs],
  );
  return rows.map((row) => row.id);
}

/** Deletes an instance stopped in order, and those dead for a day and holding nothing any more. */
export async function signOff(pool: Pool, id: string): Promise<void> {
  await pool.query('update chat.instances set dead_at = now() where id = $1 and dead_at is null', [id]);
  await pool.query(
    `delete from chat.instances where dead_at < now() - interval '1 day' and released_at is not null`,
  );
}
