import type { AppError } from '@gatehouse/kit/errors';
import type { Delegation } from '@gatehouse/identity/principal';
import { UnreadableAnswer, type Answer, type CompletionClient, type Question } from './completion-peer.ts';

/** Chat's own limit of one run. A run that takes longer would take as long the next time. */
export const longestRunMs = 10 * 60_000;
/** The most that one attempt may take: chat reports its limit before. */
const longestAttemptMs = longestRunMs + 30_000;
const pollMs = 1_000;

/**
 * Asks an agent from a job, however long it takes. An attempt that was interrupted is repeated by the same call id, so
 * that chat's stored answer counts if there is one.
 */
export function askInJob(
  completions: CompletionClient,
  { delegation, question, signal }: { delegation: Delegation; question: Question; signal: AbortSignal },
): Promise<Answer> {
  const deadlineMs = (): number => {
    signal.throwIfAborted();
    return longestAttemptMs;
  };
  return completions.askPatiently(delegation, question, { deadlineMs, pollMs });
}

/**
 * Whether a later attempt may succeed: outages, calls that were cut, limits, suspension, and trouble of the provider. An
 * answer that can't be read stays as it is.
 */
export function isTemporary(error: AppError): boolean {
  const { status, code } = error;
  if (error instanceof UnreadableAnswer) return false;
  if (code === 'tenant_suspended' || code === 'client_closed_request') return true;
  return status >= 500 || (status === 429 && code !== 'insufficient_quota');
}
