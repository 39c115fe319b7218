import type { MeteredAnswer } from '@gatehouse/dialects/dialect';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import type { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Model } from '../catalogue/catalogue.ts';
import type { FailureKind, ProviderFailure } from '../providers/provider-failure.ts';
import type { Attempt, AttemptStatus } from '../runs/run.ts';
import type { AttemptOutcome } from '../providers/open-call.ts';
import type { OpenAttempt } from './active-run-options.ts';
import { interruption } from './interrupted.ts';

/** Failures of calls not taken by a provider. */
const untakenKinds: ReadonlySet<FailureKind> = new Set(['credentials', 'own_key', 'unreachable', 'status']);

export type BegunAnswer = Omit<MeteredAnswer, 'responseModel'>;

/** The outcome of a failed call. Errors, unsent and unanswered calls cost nothing; cut and abandoned ones do. */
export function failedOutcome(
  failure: ProviderFailure,
  {
    open,
    answer,
    generated,
  }: { open: Pick<OpenAttempt, 'accepted'> | null; answer: BegunAnswer | null; generated: number },
): AttemptOutcome {
  const free = isFree(failure) || (failure.kind === 'connection' && open?.accepted !== true);
  return {
    status: attemptStatusOf(failure),
    httpStatus: failure.details.status ?? null,
    errorCode: attemptErrorOf(failure),
    usage: answer?.usage ?? (free ? noUsage : null),
    serviceTier: answer?.serviceTier ?? null,
    answer: answer?.answer,
    generated,
  };
}

/** Whether no provider took the call, so it costs nothing. */
function isFree({ kind, details }: ProviderFailure): boolean {
  return untakenKinds.has(kind) || details.isUnsent === true;
}

/** The status of the attempt of a failed call. */
function attemptStatusOf({ kind, details, isOfGateway }: ProviderFailure): AttemptStatus {
  if (!isOfGateway) return 'error';
  if (details.isUnsent === true) return 'not_sent';
  return kind === 'interrupted' ? 'interrupted' : 'cancelled';
}

/** The error of the attempt of a failed call. */
function attemptErrorOf(failure: ProviderFailure): string {
  if (failure.kind === 'interrupted') return interruption.errorType;
  return runErrorOf(failure.toAppError()).errorType;
}

/** The error of a run as its record has it. */
export function runErrorOf({ code, message }: AppError): { errorType: string; errorMessage: string } {
  return { errorType: code === 'run_stopped' ? 'stopped' : code, errorMessage: message };
}

/** A model passed over without a call. Its number follows when the run ends. */
export function passedOverAttempt(
  model: Model,
  { errorCode, offsetMs, cost }: Pick<Attempt, 'errorCode' | 'offsetMs' | 'cost'>,
): Attempt {
  return {
    ...{ id: newId(), provider: model.provider.name, model: model.id, upstreamModel: model.upstreamModel },
    ...{ number: 0, inputTokensGuess: 0, httpStatus: null, errorCode, responseModel: null },
    ...{ offsetMs, durationMs: 0, timeToFirstTokenMs: null, status: 'not_sent', usage: noUsage, cost },
  };
}
