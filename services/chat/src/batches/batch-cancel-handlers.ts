import { tenantOf, type Call } from '@gatehouse/http/app';
import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import { ProviderFailure } from '../providers/provider-failure.ts';
import { asAppError, resourcesOf } from './batch-call-handlers.ts';
import { answerMs, type BatchHandlerDependencies } from './batch-start-handlers.ts';
import { describeBatch, type StoredBatch } from './batch-store.ts';
import { cancelBatch } from './provider-batch-client.ts';

/** Cancels a batch under way. Returns how its provider describes it then; throws a 400 for one that has ended. */
export async function cancelOpen(
  dependencies: BatchHandlerDependencies,
  call: Call,
  batch: StoredBatch,
): Promise<Fields> {
  const { pool, sealed, firstPauseMs: pauseMs } = dependencies;
  const { tenantId } = tenantOf(call);
  if (batch.ended) throw hasEnded(call);
  await dependencies.counts.count(tenantId, 'batch_cancellations');
  const { id, key } = batch;
  const resources = await resourcesOf(dependencies, key, call);
  const late = AbortSignal.timeout(answerMs);
  const object = await cancelBatch(resources, batch, late).catch((error: unknown) => {
    throw hasEndedThere(error) ? hasEnded(call) : asAppError(error, key);
  });
  await describeBatch(pool, { id, tenantId }, { content: sealed.seal(object, { id, tenantId }), pauseMs });
  return object;
}

function hasEnded({ params }: Pick<Call, 'params'>): AppError {
  const [param] = Object.keys(params);
  return new AppError('invalid_value', 'The batch has ended.', { param });
}

/** Whether a batch has ended there, before its cost is recorded here. OpenAI answers 409 then, and Anthropic 400. */
function hasEndedThere(error: unknown): boolean {
  const { status } = error instanceof ProviderFailure ? error.details : {};
  return status === 409 || status === 400;
}
