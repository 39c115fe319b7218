import type { JobHandler } from '@gatehouse/jobs/task';
import { AppError } from '@gatehouse/kit/errors';
import { sleep } from '@gatehouse/kit/clock';
import type { Queryable } from '@gatehouse/pg/pool';
import type { StoredCall } from '../calls/call.ts';
import type { CallTexts, Result } from '../calls/call-texts.ts';
import type { CompletionClient } from '../peers/completions.ts';
import type { CallStore } from '../store/call-store.ts';

export interface RunCallDependencies {
  calls: CallStore;
  texts: CallTexts;
  completions: CompletionClient;
  /** Sends the result of a call to its callback URL, if it has one. */
  notify: (db: Queryable, call: StoredCall) => Promise<void>;
}

/** Of one attempt; chat's own limit is ten minutes. */
const askMs = 10 * 60_000;
const pollMs = 1_000;

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
    try {
      const result = await ask(call, texts.openRequest(call, call.request), signal);
      await calls.succeed(call, texts.sealResult(call, result), (db) => notify(db, call));
    } catch (error) {
      if (!(error instanceof AppError) || (isTemporary(error) && !lastAttempt)) throw error;
      log.warn({ call_id: callId, code: error.code }, 'a call of a webhook failed');
      await calls.fail(call, { code: error.code, message: error.message }, (db) => notify(db, call));
    }
  };

  async function ask(
    { id: callId, tenantId, agentId, userId, sessionId }: StoredCall,
    requestJson: string,
    signal: AbortSignal,
  ): Promise<Result> {
    const delegation = { tenantId, agentId, actingUser: userId };
    for (;;) {
      signal.throwIfAborted();
      try {
        return await completions.ask(delegation, { callId, sessionId, requestJson }, { deadlineMs: askMs });
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'idempotency_in_progress') throw error;
        await sleep(pollMs);
      }
    }
  }
}

/** Whether a later attempt may succeed: outages, limits, and trouble of the provider. */
function isTemporary({ status, code }: AppError): boolean {
  return status >= 500 || (status === 429 && code !== 'insufficient_quota');
}
