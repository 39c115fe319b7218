import type { Logger } from './log.ts';
import { otlpTarget, type OtlpConfig } from './otlp-settings.ts';
import type { Tracer } from './tracing.ts';

/** Creates the tracer of a service. Returns undefined, without loading OpenTelemetry, when no endpoint is set. */
export async function createTracer(
  service: string,
  config: OtlpConfig,
  log: Logger,
): Promise<Tracer | undefined> {
  const target = otlpTarget('traces', service, config);
  if (target === undefined) return undefined;
  const { OtlpTracer } = await import('./otlp-tracer.ts');
  return new OtlpTracer(target, log);
}
