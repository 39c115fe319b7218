import { sumCosts } from '../domain/price.ts';
import type { Pricing } from '../domain/pricing.ts';
import type { AttemptEnd } from '../domain/run.ts';
import { noUsage, sumUsage } from '../domain/usage.ts';
import type { OpenAttempt, Orphan } from '../store/orphan-system-store.ts';
import type { EndRow } from '../store/run-system-store.ts';

/** The end of a run that nobody works on any more. */
export function interruptedEnd(orphan: Orphan, pricing: Pricing): EndRow {
  const attempts = orphan.openAttempts.map((attempt) => ({
    ...attempt,
    ...interruptedAttempt(attempt, pricing),
  }));
  const all = [...orphan.endedAttempts, ...attempts];
  const last = orphan.openAttempts.at(-1);
  return {
    run: orphan.run,
    attempts,
    end: {
      status: 'interrupted',
      durationMs: orphan.ageMs,
      timeToFirstTokenMs: null,
      provider: last?.provider ?? null,
      model: last?.model ?? null,
      responseModel: null,
      usage: { ...sumUsage(all.map(({ usage }) => usage)), estimated: true },
      cost: sumCosts(all.map(({ cost }) => cost)),
      errorType: 'interrupted',
      errorMessage: 'The gateway process that worked on this run ended.',
      outputPreview: null,
    },
  };
}

/** How much was answered before the process died is unknown; the prompt at least was read. */
function interruptedAttempt(attempt: OpenAttempt, pricing: Pricing): AttemptEnd {
  const usage = { ...noUsage, inputTokens: attempt.inputTokensGuess, estimated: true };
  return {
    id: attempt.id,
    status: 'interrupted',
    offsetMs: null,
    durationMs: null,
    timeToFirstTokenMs: null,
    httpStatus: null,
    errorCode: 'interrupted',
    responseModel: null,
    usage,
    cost: pricing.costOf(attempt, usage, attempt.startedAt),
  };
}
