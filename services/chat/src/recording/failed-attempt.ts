import type { FailureKind, ProviderFailure } from '../providers/provider-failure.ts';
import type { AttemptStatus } from '../runs/run.ts';

/** Failures of calls not taken by a provider. */
const untakenKinds: ReadonlySet<FailureKind> = new Set(['credentials', 'own_key', 'unreachable', 'status']);

/** Whether no provider took the call, so it costs nothing. */
export function isFree({ kind, details }: ProviderFailure): boolean {
  return untakenKinds.has(kind) || details.isUnsent === true;
}

/** The status of the attempt of a failed call. */
export function attemptStatusOf({ kind, details }: ProviderFailure): AttemptStatus {
  const isStopped = kind === 'aborted' || kind === 'interrupted';
  if (isStopped && details.isUnsent === true) return 'not_sent';
  if (kind === 'aborted') return 'cancelled';
  return kind === 'interrupted' ? 'interrupted' : 'error';
}
