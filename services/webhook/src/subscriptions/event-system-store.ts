import type { DeadLetter } from '@gatehouse/events/dead-letters';
import type { Pool } from '@gatehouse/pg/pool';

/** Deletes up to `limit` events that are older than 30 days, with their deliveries; returns how many. */
export async function deleteOldEvents(pool: Pool, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from webhook.events where created_at < now() - interval '30 days' and id = any (array(
       select id from webhook.events where created_at < now() - interval '30 days' order by created_at limit $1))`,
    [limit],
  );
  return rowCount ?? 0;
}

/** Deletes up to `limit` marks that no longer hold any event back; returns how many. */
export async function deleteOldMarks(pool: Pool, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from webhook.event_marks where at < now() - interval '2 days' and (tenant_id, subject) in (
       select tenant_id, subject from webhook.event_marks where at < now() - interval '2 days' limit $1)`,
    [limit],
  );
  return rowCount ?? 0;
}

/** Keeps an event that can't be read or stored, once. */
export async function insertDeadLetter(pool: Pool, letter: DeadLetter): Promise<void> {
  await pool.query(
    `insert into webhook.dead_letters (id, origin, reason, payload) values ($1, $2, $3, $4) on conflict do nothing`,
    [letter.id, letter.origin, letter.reason, letter.payload],
  );
}

/** Deletes up to `limit` dead letters that are older than 30 days; returns how many. */
export async function deleteOldDeadLetters(pool: Pool, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from webhook.dead_letters where id = any (array(
       select id from webhook.dead_letters where received_at < now() - interval '30 days' limit $1))`,
    [limit],
  );
  return rowCount ?? 0;
}
