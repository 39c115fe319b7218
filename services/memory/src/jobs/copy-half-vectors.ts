import type { JobHandler } from '@gatehouse/jobs/task';
import type { CopiedTo, HalfVectorStore } from '../store/half-vector-store.ts';

/** Vectors in one transaction, which stays short for large vectors too: 20 to 50 ms with 384 components. */
const batch = 50;

/** Copies the vectors of an agent for pgvector. Ends at once if they are copied, or if pgvector is gone. */
export function copyHalfVectors(store: HalfVectorStore): JobHandler<{ agentId: string }> {
  return async ({ agentId }, { tenantId, signal }) => {
    const key = { tenantId, agentId };
    while (await store.incomplete(key)) {
      let copied: CopiedTo | null = null;
      do {
        signal.throwIfAborted();
        copied = await store.copy(key, copied, batch);
      } while (copied !== null);
      if (await store.complete(key)) return;
    }
  };
}
