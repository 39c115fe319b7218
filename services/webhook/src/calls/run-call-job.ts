import type { JobHandler } from '@gatehouse/jobs/task';
import { monotonicMs } from '@gatehouse/kit/clock';
import { toAppError } from '@gatehouse/kit/errors';
import type { Pool } from '@gatehouse/pg/pool';
import type { DeliveryQueue } from '../deliveries/delivery-queue-store.ts';
import type { CallTexts } from './call-texts.ts';
import type { CompletionClient } from '../clients/completion-client.ts';
import type { CallStore } from './call-store.ts';
import { findLostCalls } from './call-system-store.ts';
import { isTemporary } from '../clients/completion.ts';
import type { QueueAnswer } from '../shared/queue-answer.ts';
import { batchRows, longestRunMs } from '../bounds.ts';

/**
 * Asks the agent for an `async` call and stores its answer. An interrupted attempt is repeated by the same id: chat's
 * stored answer counts if there is one.
 */
export function runCall({
  calls,
  texts,
  completions,
  queue,
  queueAnswer,
}: {
  calls: CallStore;
  texts: CallTexts;
  completions: CompletionClient;
  queue: DeliveryQueue;
  queueAnswer: QueueAnswer;
}): JobHandler<{ callId: string }> {
  return async ({ callId }, { tenantId, lastAttempt, signal, log }) => {
    const call = await calls.find(tenantId, callId);
    // It was deleted with its endpoint, or an attempt regarded as lost has finished it.
    if (call === null || call.request === null) return;
    await calls.assertOpen(call);
    const startedAt = monotonicMs();
    try {
      const { agentId, userId, sessionId } = call;
      const requestJson = texts.requests.open(call, call.request);
      const { result } = await completions.askInJob(
        { tenantId, agentId, userId },
        { callId, channel: 'webhook', sessionId, requestJson },
        signal,
      );
      await calls.succeed(call, texts.sealResult(call, result), async (db) => {
        await queue.addResult(db, call);
        await queueAnswer(db, call);
      });
    } catch (caught) {
      signal.throwIfAborted();
      const error = toAppError(caught);
      if (!lastAttempt && isTemporary(error) && monotonicMs() - startedAt < longestRunMs) throw caught;
      log.warn({ call_id: callId, code: error.code }, 'a call of a webhook failed');
      await calls.fail(call, { code: error.code, message: error.message }, (db) => queue.addResult(db, call));
    }
  };
}

/**
 * Ends calls after the loss of their last attempt with its process, and sends an error as their result. Returns whether
 * there may be more.
 */
export async function failLost({
  system,
  calls,
  queue,
}: {
  system: Pool;
  calls: CallStore;
  queue: Pick<DeliveryQueue, 'addResult'>;
}): Promise<boolean> {
  const lost = await findLostCalls(system, batchRows);
  for (const { tenantId, id } of lost) {
    const call = await calls.find(tenantId, id);
    if (call === null) continue;
    const error = { code: 'service_timeout', message: 'The call did not end within two days.' } as const;
    await calls.fail(call, error, (db) => queue.addResult(db, call));
  }
  return lost.length === batchRows;
}
