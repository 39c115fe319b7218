import { z } from 'zod';
import { keyValueList } from './key-value-list.ts';
import type { Logger } from './log.ts';
import type { Tracer } from './tracing.ts';

/**
 * OpenTelemetry's own settings of exporters and resources, of those that are meant for traces
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
 */
export const tracingSettings = {
  /** Base URL of an OTLP/HTTP receiver; unset means that nothing is traced. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  /** The whole URL for traces, instead of the base URL. */
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  /** `name=value,…` in percent-encoding, such as the receiver's key. */
  OTEL_EXPORTER_OTLP_HEADERS: keyValueList.optional(),
  /** Default: the service's name. */
  OTEL_SERVICE_NAME: z.string().optional(),
  /** `name=value,…` in percent-encoding. */
  OTEL_RESOURCE_ATTRIBUTES: keyValueList.optional(),
  OTEL_SDK_DISABLED: z.string().optional(),
};

export type TracingConfig = Readonly<z.output<z.ZodObject<typeof tracingSettings>>>;

/** The tracer of a service, or undefined when no endpoint is set: OpenTelemetry is not even loaded then. */
export async function createTracer(
  service: string,
  config: TracingConfig,
  log: Logger,
): Promise<Tracer | undefined> {
  const url =
    config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ??
    (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
      ? undefined
      : `${config.OTEL_EXPORTER_OTLP_ENDPOINT.replace(/\/$/, '')}/v1/traces`);
  if (url === undefined || config.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return undefined;
  const { OtlpTracer } = await import('./otlp-tracer.ts');
  return new OtlpTracer({
    url,
    headers: config.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    service,
    resource: {
      ...config.OTEL_RESOURCE_ATTRIBUTES,
      ...(config.OTEL_SERVICE_NAME === undefined ? {} : { 'service.name': config.OTEL_SERVICE_NAME }),
    },
    log,
  });
}
