import type { Logger } from './log.ts';
import type { Meter } from './meter.ts';
import { otlpTarget, type OtlpConfig } from './otlp-settings.ts';

const defaultEveryMs = 60_000;

/** Creates the meter of a service. Returns undefined, without loading OpenTelemetry, when no endpoint is set. */
export async function createMeter(
  service: string,
  config: OtlpConfig,
  log: Logger,
): Promise<Meter | undefined> {
  const target = otlpTarget('metrics', service, config);
  if (target === undefined) return undefined;
  const { OtlpMeter } = await import('./otlp-meter.ts');
  return new OtlpMeter(target, config.OTEL_METRIC_EXPORT_INTERVAL ?? defaultEveryMs, log);
}
