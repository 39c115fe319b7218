import { AppError } from '@gatehouse/kit/errors';
import type { JobHandler } from '@gatehouse/jobs/task';
import type { Embedder } from '../peers/embedder.ts';
import { noModel, type EmbeddingStore } from '../store/embedding-store.ts';

/** Passages in one call of the provider. */
const batch = 64;

/** Embeds what waits in the memory of an agent, a batch at a time. Ends at once without an embedding model. */
export function embedPassages(store: EmbeddingStore, embedder: Embedder): JobHandler<{ agentId: string }> {
  return async ({ agentId }, { tenantId, signal }) => {
    const key = { tenantId, agentId };
    for (;;) {
      signal.throwIfAborted();
      const chunks = await store.pending(key, batch);
      if (chunks.length === 0) return;
      try {
        const texts = chunks.map(({ text }) => text);
        await store.save(key, chunks, await embedder.passages(key, texts));
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'embeddings_not_configured') throw error;
        await store.noteModel(key, noModel, () => Promise.resolve());
        return;
      }
    }
  };
}
