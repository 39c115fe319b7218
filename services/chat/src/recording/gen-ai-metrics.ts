import type { MeasureAttributes, Meter, RecordValue } from '@gatehouse/kit/meter';
import type { AttemptEnd } from '../runs/run.ts';

/** Bounds of the buckets as the convention gives them. */
const durationSeconds = Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power);
const tokenCounts = Array.from({ length: 14 }, (_, power) => 4 ** power);

/**
 * Metrics of provider calls as https://github.com/open-telemetry/semantic-conventions-genai has them
 * (gen_ai.client.*), for export by OTLP.
 */
export class GenAiMetrics {
  readonly #duration: RecordValue;
  readonly #tokens: RecordValue;

  constructor(meter: Meter) {
    this.#duration = meter.histogram({
      name: 'gen_ai.client.operation.duration',
      description: 'Time from a provider call to its end',
      unit: 's',
      boundaries: durationSeconds,
    });
    this.#tokens = meter.histogram({
      name: 'gen_ai.client.token.usage',
      description: 'Tokens of a provider call, as the provider reported them',
      unit: '{token}',
      boundaries: tokenCounts,
    });
  }

  callEnded(seconds: number, usage: AttemptEnd['usage'], attributes: MeasureAttributes): void {
    this.#duration(seconds, attributes);
    // By the convention, tokens that the provider did not report have no metric.
    if (usage.estimated) return;
    const { 'error.type': _error, ...labels } = attributes;
    if (usage.inputTokens > 0) this.#tokens(usage.inputTokens, { ...labels, 'gen_ai.token.type': 'input' });
    if (usage.outputTokens > 0)
      this.#tokens(usage.outputTokens, { ...labels, 'gen_ai.token.type': 'output' });
  }
}
