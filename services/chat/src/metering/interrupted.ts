import type { AttemptEnd, AttemptStart } from '../domain/run.ts';
import { sumUsage } from '../domain/usage.ts';
import type { Orphan } from '../store/orphan-system-store.ts';
import type { EndRow } from '../store/run-system-store.ts';

/** The end of a run that nobody works on any more. */
export function interruptedEnd(orphan: Orphan): EndRow {
  const attempts = orphan.openAttempts.map((attempt) => ({ ...attempt, ...interruptedAttempt(attempt) }));
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
      usage: {
        ...sumUsage([orphan.endedUsage, ...attempts.map((attempt) => attempt.usage)]),
        estimated: true,
      },
      errorType: 'interrupted',
      errorMessage: 'The gateway process that worked on this run ended.',
      outputPreview: null,
    },
  };
}

/** How much was answered before the process died is unknown; the prompt at least was read. */
function interruptedAttempt(attempt: AttemptStart): AttemptEnd {
  return {
    id: attempt.id,
    status: 'interrupted',
    offsetMs: null,
    durationMs: null,
    timeToFirstTokenMs: null,
    httpStatus: null,
    errorCode: 'interrupted',
    responseModel: null,
    usage: {
      inputTokens: attempt.inputTokensGuess,
      cachedInputTokens: 0,
      outputTokens: 0,
      reasoningTokens: 0,
      estimated: true,
    },
  };
}
