import type { RunEnded } from '@gatehouse/events/run-event';

/**
 * The catalogue ids of the models of a run's attempts that have tokens and no price; null without one. When the
 * end event marks the run as unpriced but lists no such attempt, the run's own model.
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
