import { refusalOf, type DeadLetters } from '@gatehouse/events/dead-letters';
import type { RequestsRefused } from '@gatehouse/events/refused-event';
import { newId } from '@gatehouse/kit/ids';
import { isRefusal } from '@gatehouse/pg/errors';
import type { Pool } from '@gatehouse/pg/pool';
import { lateRefusalDays } from '../bounds.ts';
import { findForgotten } from '../forgetting/forget-system-store.ts';
import type { RefusalEvent } from './read-events.ts';
import { insertRefusals } from './refusal-system-store.ts';

/** Stores counts of refused requests, each event once. Throws during a database outage. `pool` acts as `analytics_system`. */
export async function takeRefusals(
  events: readonly RefusalEvent[],
  { pool, deadLetters }: { pool: Pool; deadLetters: DeadLetters },
): Promise<void> {
  for (const { received, refused } of events) {
    const counts = await withoutForgotten(pool, refused);
    // Without the event as it came, which may name a user whose data were deleted.
    const letter = { origin: received.origin, payload: Buffer.from(JSON.stringify(withoutDetails(counts))) };
    try {
      if (await insertRefusals(pool, counts)) continue;
      await deadLetters.add(
        letter,
        `too late: counts of refused requests older than ${lateRefusalDays} days`,
      );
    } catch (error) {
      if (!isRefusal(error)) throw error;
      await deadLetters.add(letter, refusalOf(error));
    }
  }
}

/** Requests of a user whose data were deleted afterwards lose the user, and are not kept one by one. */
async function withoutForgotten(pool: Pool, refused: RequestsRefused): Promise<RequestsRefused> {
  const entries = refused.entries.map((entry) => ({
    ...entry,
    run_id: newId(),
    started_at: refused.refused_at,
  }));
  const forgotten = await findForgotten(pool, entries);
  return {
    ...refused,
    entries: entries.map(({ run_id: id, started_at: _, ...entry }) =>
      forgotten.has(id) ? { ...entry, user_id: null, details: [] } : entry,
    ),
  };
}

function withoutDetails(refused: RequestsRefused): RequestsRefused {
  return { ...refused, entries: refused.entries.map((entry) => ({ ...entry, user_id: null, details: [] })) };
}
