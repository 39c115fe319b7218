import type { Fields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import type { Attempt, RunEnd, RunStatus } from '../runs/run.ts';
import type { KeyName } from '../providers/resources.ts';
import type { ResultTally } from './result-tally.ts';

/** How a batch ended, as its run has it. */
export interface Outcome {
  status: RunStatus;
  errorType: string | null;
  errorMessage: string | null;
}

export const unreachable: Outcome = {
  status: 'error',
  errorType: 'batch_unreachable',
  errorMessage: 'The provider could not be asked about the batch for three days.',
};

/** The outcome of a batch that the provider has ended. */
export function outcomeOf({ status }: Fields): Outcome {
  switch (status) {
    case 'completed':
      return { status: 'ok', errorType: null, errorMessage: null };
    case 'cancelled':
      return { status: 'cancelled', errorType: null, errorMessage: null };
    case 'expired':
      return {
        status: 'error',
        errorType: 'batch_expired',
        errorMessage: 'The provider did not answer all requests of the batch in time.',
      };
    default:
      return { status: 'error', errorType: 'batch_failed', errorMessage: 'The provider refused the batch.' };
  }
}

/** The end of a batch's run: one attempt with the usage of all its requests. */
export function batchEnd(
  batch: { key: KeyName; model: string; upstreamModel: string; ageMs: number },
  outcome: Outcome,
  { usage, cost, responseModel }: Pick<ResultTally, 'usage' | 'cost' | 'responseModel'>,
): { end: RunEnd; attempt: Attempt } {
  const { model, upstreamModel, ageMs: durationMs, key } = batch;
  const { costPico, source, version, priced } = cost;
  const { provider } = key;
  const { status, errorType } = outcome;
  return {
    end: {
      ...{ ...outcome, durationMs, timeToFirstTokenMs: null, provider, model, responseModel, usage, cost },
      ...{ outputPreview: null, tools: [] },
    },
    attempt: {
      ...{ id: newId(), number: 1, provider, model, upstreamModel, inputTokensGuess: 0, status },
      ...{ offsetMs: 0, durationMs, timeToFirstTokenMs: null, httpStatus: null, errorCode: errorType },
      ...{ responseModel, usage, cost: priced && costPico !== null ? { costPico, source, version } : null },
    },
  };
}
