import type { JobHandler } from '@gatehouse/jobs/task';
import type { HalfVectorStore } from '../store/search/half-vector-store.ts';
import { firstPlace, type PassagePosition } from '../store/search/place.ts';

/** Vectors in one transaction, which stays short for large vectors too: 20 to 50 ms with 384 components. */
const batch = 50;

/** Copies the vectors of an agent for pgvector. Ends at once if they are copied, or if pgvector is gone. */
export function copyHalfVectors(store: HalfVectorStore): JobHandler<{ agentId: string }> {
  return async ({ agentId }, { tenantId, signal }) => {
    const key = { tenantId, agentId };
    while (await store.incomplete(key)) {
      for (let place: PassagePosition | null = firstPlace; place !== null;) {
        signal.throwIfAborted();
        place = await store.copy(key, place, batch);
      }
      if (await store.complete(key)) return;
    }
  };
}
