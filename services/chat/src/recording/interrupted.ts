import { sumCosts } from '../catalogue/price.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import { chargeFor, sumCharges } from '../runs/charge.ts';
import type { Attempt, AttemptStart } from '../runs/run.ts';
import type { Operation } from '@gatehouse/dialects/dialect';
import { noUsage, sumUsage } from '@gatehouse/dialects/usage/usage';
import type { EndRow, Orphan } from './run-rows.ts';

/** Error of a run after its process ended first. */
export const interruption = {
  errorType: 'interrupted',
  errorMessage: 'The gateway process that worked on this run ended.',
};

/** End of a run after the death of its process. One without a call of a model has used nothing. */
export function interruptedEnd({ run, startedAt, ageMs, ended, open }: Orphan, pricing: Pricing): EndRow {
  const call =
    open === null || run.operation === 'execute_tool'
      ? null
      : interruptedAttempt(open, { operation: run.operation, at: startedAt }, pricing);
  const attempts = call === null ? ended : [...ended, call];
  return {
    run,
    attempts,
    end: {
      status: 'interrupted',
      durationMs: ageMs,
      timeToFirstTokenMs: null,
      provider: call?.provider ?? null,
      model: call?.model ?? null,
      responseModel: null,
      usage: { ...sumUsage(attempts.map(({ usage }) => usage)), estimated: call !== null },
      cost: sumCosts(attempts.map(({ cost }) => cost)),
      chargePico: sumCharges(attempts),
      ...interruption,
      outputPreview: null,
      tools: [],
    },
  };
}

/** Only the prompt is counted: how much was answered before the process died is unknown. */
export function interruptedAttempt(
  attempt: AttemptStart,
  called: { operation: Operation; at: Date },
  pricing: Pricing,
): Attempt {
  const usage = { ...noUsage, inputTokens: attempt.inputTokensGuess, estimated: true };
  const call = { ...called, serviceTier: null };
  const cost = pricing.costOfRecorded(attempt, usage, call);
  const known = pricing.chargeOfRecorded(attempt, usage, call);
  return {
    ...attempt,
    status: 'interrupted',
    offsetMs: null,
    durationMs: null,
    timeToFirstTokenMs: null,
    httpStatus: null,
    errorCode: interruption.errorType,
    responseModel: null,
    usage,
    cost,
    ...(cost === null && { chargePico: chargeFor({ cost, known }, BigInt(attempt.reservedPico ?? 0)) }),
  };
}
