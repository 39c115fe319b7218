import type { JobHandler } from '@gatehouse/jobs/task';
import { monotonicMs } from '@gatehouse/kit/clock';
import { toAppError } from '@gatehouse/kit/errors';
import type { Queryable } from '@gatehouse/pg/pool';
import type { StoredCall } from './call.ts';
import type { CallTexts } from './call-texts.ts';
import type { CompletionClient } from '../peers/completion-peer.ts';
import type { CallStore } from './call-store.ts';
import { askInJob, isTemporary, longestRunMs } from '../peers/ask.ts';

export interface RunCallDependencies {
  calls: CallStore;
  texts: CallTexts;
  completions: CompletionClient;
  /** Sends the result of a call to its callback URL, if it has one. */
  notify: (db: Queryable, call: StoredCall) => Promise<void>;
}

/**
 * Asks the agent for an `async` call and stores its answer. An attempt that was interrupted is repeated by the same id,
 * so that chat's stored answer counts if there is one.
 */
export function runCall({
  calls,
  texts,
  completions,
  notify,
}: RunCallDependencies): JobHandler<{ callId: string }> {
  return async ({ callId }, { tenantId, lastAttempt, signal, log }) => {
    const call = await calls.find(tenantId, callId);
    // It was deleted with its endpoint, or an attempt that was taken for lost has finished it.
    if (call === null || call.request === null) return;
    await calls.assertOpen(call);
    const startedAt = monotonicMs();
    try {
      const { agentId, userId: actingUser, sessionId } = call;
      const requestJson = texts.openRequest(call, call.request);
      const { result } = await askInJob(completions, {
        delegation: { tenantId, agentId, actingUser },
        question: { callId, channel: 'webhook', sessionId, requestJson },
        signal,
      });
      await calls.succeed(call, texts.sealResult(call, result), (db) => notify(db, call));
    } catch (caught) {
      signal.throwIfAborted();
      const error = toAppError(caught);
      if (!lastAttempt && isTemporary(error) && monotonicMs() - startedAt < longestRunMs) throw caught;
      log.warn({ call_id: callId, code: error.code }, 'a call of a webhook failed');
      await calls.fail(call, { code: error.code, message: error.message }, (db) => notify(db, call));
    }
  };
}
