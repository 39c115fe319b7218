import type { RunEnded } from '@gatehouse/events/run-event';

/**
 * The models, by their ids in the catalogue, of a run's calls that have tokens and no price; null where there is none
 * such. The run's own model where its end says that it is unpriced but tells of no such call.
 */
export function unpricedModelsOf(run: RunEnded): string[] | null {
  if (run.priced) return null;
  const calls = run.spans.filter(
    (call) => call.cost_pico === null && call.input_tokens + call.output_tokens > 0,
  );
  return calls.length === 0
    ? [run.model ?? run.request_model]
    : [...new Set(calls.map(({ model }) => model))];
}
