import { refusalOf, type DeadLetters } from '@gatehouse/events/dead-letters';
import type { RefusedEntry, RequestsRefused } from '@gatehouse/events/refused-event';
import { newId } from '@gatehouse/kit/ids';
import { lateRefusalDays } from '../bounds.ts';
import type { ForgetStore } from '../forgetting/forget-system-store.ts';
import type { RefusalEvent } from './read-events.ts';
import type { IngestStore } from './ingest-system-store.ts';

export interface RefusalOptions {
  store: Pick<IngestStore, 'insertRefusals' | 'isRefusal'>;
  deletions: Pick<ForgetStore, 'findForgotten'>;
  deadLetters: DeadLetters;
}

/** Stores counts of refused requests, each event once. Throws during a database outage. */
export async function takeRefusals(
  events: readonly RefusalEvent[],
  { store, deletions, deadLetters }: RefusalOptions,
): Promise<void> {
  for (const { received, refused } of events) {
    const counts = await withoutForgotten(deletions, refused);
    // Without the event as it came, which may name a user whose data were deleted.
    const letterOf = (entries: readonly RefusedEntry[]) => ({
      origin: received.origin,
      payload: Buffer.from(JSON.stringify({ ...counts, entries: entries.map(withoutUser) })),
    });
    try {
      const late = await store.insertRefusals(counts);
      if (late.length === 0) continue;
      const reason = `too late: counts of refused requests older than ${lateRefusalDays} days`;
      await deadLetters.add(letterOf(late), reason);
    } catch (error) {
      if (!store.isRefusal(error)) throw error;
      await deadLetters.add(letterOf(counts.entries), refusalOf(error));
    }
  }
}

/** Requests of a user whose data were deleted afterwards lose the user, and are not kept one by one. */
async function withoutForgotten(
  deletions: RefusalOptions['deletions'],
  refused: RequestsRefused,
): Promise<RequestsRefused> {
  const entries = refused.entries.map((entry) => ({ id: newId(), entry }));
  const requests = entries.flatMap(({ id, entry }) =>
    [{ id, refused_at: entry.refused_at }, ...entry.details].map(({ id: requestId, refused_at: at }) => ({
      ...{ run_id: requestId, tenant_id: entry.tenant_id, user_id: entry.user_id, started_at: at },
    })),
  );
  const forgotten = await deletions.findForgotten(requests);
  if (forgotten.size === 0) return refused;
  return {
    ...refused,
    entries: entries.flatMap(({ id, entry }) =>
      forgotten.has(id) ? split(entry, (detail) => forgotten.has(detail.id)) : [entry],
    ),
  };
}

/** An entry with requests from before a deletion: those known to be from after it stay the user's. */
function split(entry: RefusedEntry, isForgotten: (detail: { id: string }) => boolean): RefusedEntry[] {
  const details = entry.details.filter((detail) => !isForgotten(detail));
  const before = { ...withoutUser(entry), count: entry.count - details.length };
  const after = { ...entry, count: details.length, details };
  return [before, after].filter(({ count }) => count > 0);
}

function withoutUser(entry: RefusedEntry): RefusedEntry {
  return { ...entry, user_id: null, details: [] };
}
