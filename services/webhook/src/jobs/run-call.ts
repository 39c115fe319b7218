import type { JobHandler } from '@gatehouse/jobs/task';
import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { AppError, toAppError } from '@gatehouse/kit/errors';
import type { Queryable } from '@gatehouse/pg/pool';
import type { StoredCall } from '../calls/call.ts';
import type { CallTexts, Result } from '../calls/call-texts.ts';
import { UnreadableAnswer, type CompletionClient } from '../peers/completions.ts';
import type { CallStore } from '../store/call-store.ts';

export interface RunCallDependencies {
  calls: CallStore;
  texts: CallTexts;
  completions: CompletionClient;
  /** Sends the result of a call to its callback URL, if it has one. */
  notify: (db: Queryable, call: StoredCall) => Promise<void>;
}

/** Chat's own limit of one run. A run that takes longer would take as long the next time. */
const longestMs = 10 * 60_000;
/** Of one attempt: chat reports its limit before. */
const askMs = longestMs + 30_000;
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
    const startedAt = monotonicMs();
    try {
      const result = await ask(call, texts.openRequest(call, call.request), signal);
      await calls.succeed(call, texts.sealResult(call, result), (db) => notify(db, call));
    } catch (caught) {
      signal.throwIfAborted();
      const error = toAppError(caught);
      if (!lastAttempt && isTemporary(error) && monotonicMs() - startedAt < longestMs) throw caught;
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

/**
 * Whether a later attempt may succeed: outages, calls that were cut, limits, suspension, and trouble of the provider. An
 * answer that can't be read stays as it is.
 */
function isTemporary(error: AppError): boolean {
  const { status, code } = error;
  if (error instanceof UnreadableAnswer) return false;
  if (code === 'tenant_suspended' || code === 'client_closed_request') return true;
  return status >= 500 || (status === 429 && code !== 'insufficient_quota');
}
