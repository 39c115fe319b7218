import { AppError } from '@gatehouse/kit/errors';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { JobContext, JobHandler } from '@gatehouse/jobs/task';
import type { Embedder } from '../clients/embedder.ts';
import type { Embedded } from '../search/vectors.ts';
import type { AgentKey } from '../store/scopes/scope-store.ts';
import { noModel, type EmbeddingStore, type PendingChunk } from '../store/search/embedding-store.ts';

/** Passages in one call of the provider. */
const batch = 64;
/** A longer job goes on as a new one instead of failing at its deadline. */
const longestMs = 5 * 60_000;
/** Passages refused by the provider before the job fails. */
const maxRefused = 1_000;
/** When to look again whether another job still embeds for the agent. */
const lookAgainMs = 1_000;

/**
 * Embeds what waits in the memory of an agent, a batch at a time. Ends at once without an embedding model. One job of an
 * agent at a time: two would embed the same passages, and each call is paid for. `request` adds a job for what is left.
 */
export function embedPassages(
  store: EmbeddingStore,
  embedder: Embedder,
  request: (key: AgentKey, runAt?: Date) => Promise<void>,
): JobHandler<{ agentId: string }> {
  return async ({ agentId }, { tenantId, jobId, signal, log }) => {
    const key = { tenantId, agentId };
    try {
      await embedAll({ key, jobId, signal, log });
    } finally {
      await store.release(key, jobId);
    }
  };

  async function embedAll({ key, jobId, signal, log }: Embedding): Promise<void> {
    const refused: PendingChunk[] = [];
    for (const startedAt = monotonicMs(); monotonicMs() - startedAt < longestMs;) {
      signal.throwIfAborted();
      const claim = await store.claim(key, jobId);
      if (claim === 'held') await request(key, new Date(Date.now() + lookAgainMs));
      if (claim !== 'claimed') return;
      const chunks = await store.pending(key, { limit: batch, without: refused });
      if (chunks.length === 0) return;
      try {
        for (const part of await embedParts(chunks, (texts) => embedder.passages(key, texts))) {
          if (part.embedded === null) refused.push(...part.chunks);
          else await store.save(key, part.chunks, part.embedded);
        }
      } catch (error) {
        if (!isNotConfigured(error)) throw error;
        await store.noteModel(key, noModel, () => Promise.resolve());
        return;
      }
      noteRefused(refused, log);
    }
    await request(key);
  }
}

interface Embedding extends Pick<JobContext, 'jobId' | 'signal' | 'log'> {
  key: AgentKey;
}

interface EmbeddedPart {
  chunks: readonly PendingChunk[];
  /** Null if the provider refused the texts. */
  embedded: Embedded | null;
}

/** Embeds passages in one call or, if the provider refuses it, one by one, so one text does not hold up others. */
async function embedParts(
  chunks: readonly PendingChunk[],
  embed: (texts: string[]) => Promise<Embedded>,
): Promise<EmbeddedPart[]> {
  try {
    return [{ chunks, embedded: await embed(chunks.map(({ text }) => text)) }];
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (chunks.length === 1) return [{ chunks, embedded: null }];
    const parts: EmbeddedPart[] = [];
    for (const chunk of chunks) parts.push(...(await embedParts([chunk], embed)));
    return parts;
  }
}

/** Whether the provider found fault with the texts. */
function isRefusal(error: unknown): boolean {
  return error instanceof AppError && [400, 413, 422].includes(error.status) && !isNotConfigured(error);
}

function isNotConfigured(error: unknown): boolean {
  return error instanceof AppError && error.code === 'embeddings_not_configured';
}

function noteRefused(refused: readonly PendingChunk[], log: JobContext['log']): void {
  if (refused.length === 0) return;
  if (refused.length > maxRefused)
    throw new AppError('provider_invalid_response', 'The provider refuses too many passages.');
  log.warn({ passages: refused.length }, 'the provider refused to embed passages');
}
