import { newId } from '@gatehouse/kit/ids';
import type { Attempt, RunEnd } from '../runs/run.ts';
import type { KeyName } from '../providers/resources.ts';
import type { Outcome } from './batch-outcomes.ts';
import type { ResultTally } from './result-tally.ts';

/** The end of a batch's run: one attempt with the usage of all its requests. */
export function batchEnd(
  batch: { key: KeyName; model: string; upstreamModel: string; ageMs: number },
  outcome: Outcome,
  {
    usage,
    cost,
    responseModel,
    chargePico,
  }: Pick<ResultTally, 'usage' | 'cost' | 'responseModel' | 'chargePico'>,
): { end: RunEnd; attempt: Attempt } {
  const { model, upstreamModel, ageMs: durationMs, key } = batch;
  const { costPico, source, version, priced } = cost;
  const { provider } = key;
  const { status, errorType } = outcome;
  return {
    end: {
      ...{ ...outcome, durationMs, timeToFirstTokenMs: null, provider, model, responseModel, usage, cost },
      ...{ chargePico, outputPreview: null, tools: [] },
    },
    attempt: {
      ...{ id: newId(), number: 1, provider, model, upstreamModel, inputTokensGuess: 0, status },
      ...{ offsetMs: 0, durationMs, timeToFirstTokenMs: null, httpStatus: null, errorCode: errorType },
      ...{ responseModel, usage, cost: priced && costPico !== null ? { costPico, source, version } : null },
    },
  };
}
