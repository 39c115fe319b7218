import type { DeadLetter } from '@gatehouse/events/dead-letters';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import type { Pool } from '@gatehouse/pg/pool';

/** Events with their deliveries, expired marks, and dead letters. */
export const oldEvents: readonly OldRows[] = [
  {
    table: 'webhook.events',
    where: `created_at < now() - interval '30 days'`,
    order: 'created_at',
  },
  { table: 'webhook.event_marks', where: `at < now() - interval '2 days'` },
  { table: 'webhook.dead_letters', where: `received_at < now() - interval '30 days'` },
];

/** Keeps an unreadable or unstorable event, once. */
export async function insertDeadLetter(pool: Pool, letter: DeadLetter): Promise<void> {
  await pool.query(
    `insert into webhook.dead_letters (id, origin, reason, payload) values ($1, $2, $3, $4) on conflict do nothing`,
    [letter.id, letter.origin, letter.reason, letter.payload],
  );
}
