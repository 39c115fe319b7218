import { z } from 'zod';
import { newId } from './ids.ts';
import { keyValueList } from './key-value-list.ts';
import { version } from './version.ts';

const receiver = z.url({ protocol: /^https?$/ });

/**
 * Settings of the OpenTelemetry SDK supported by traces and metrics
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
 */
export const otlpSettings = {
  /** Base URL of an OTLP/HTTP receiver; if unset, nothing is exported. */
  OTEL_EXPORTER_OTLP_ENDPOINT: receiver.optional(),
  /** Full URL for traces; overrides the base URL. */
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: receiver.optional(),
  /** Full URL for metrics; overrides the base URL. */
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: receiver.optional(),
  /** `name=value,…` with percent-encoded values, like the receiver's API key. */
  OTEL_EXPORTER_OTLP_HEADERS: keyValueList.optional(),
  /** `none` disables the export of traces. */
  OTEL_TRACES_EXPORTER: z.string().optional(),
  /** `none` disables the export of metrics. */
  OTEL_METRICS_EXPORTER: z.string().optional(),
  /** Milliseconds between exports of metrics. Default: 60,000. */
  OTEL_METRIC_EXPORT_INTERVAL: z.coerce.number().int().min(1).optional(),
  /** Default: the service's name. */
  OTEL_SERVICE_NAME: z.string().optional(),
  /** `name=value,…` with percent-encoded values. */
  OTEL_RESOURCE_ATTRIBUTES: keyValueList.optional(),
  OTEL_SDK_DISABLED: z.string().optional(),
};

export type OtlpConfig = Readonly<z.output<z.ZodObject<typeof otlpSettings>>>;

/** The receiver of one kind of signal (traces or metrics). */
export interface OtlpTarget {
  url: string;
  headers: Record<string, string>;
  /** Resource attributes of this process. */
  resource: Record<string, string>;
}

/** Identifies this process in everything it exports. */
const instanceId = newId();

/** Returns undefined when the signal is not exported. */
export function otlpTarget(
  signal: 'traces' | 'metrics',
  service: string,
  config: OtlpConfig,
): OtlpTarget | undefined {
  const name = signal === 'traces' ? 'TRACES' : 'METRICS';
  const base = config.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/$/, '');
  const url =
    config[`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`] ??
    (base === undefined ? undefined : `${base}/v1/${signal}`);
  const off =
    config.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || config[`OTEL_${name}_EXPORTER`] === 'none';
  if (url === undefined || off) return undefined;
  return {
    url,
    headers: config.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    resource: {
      'service.name': service,
      'service.namespace': 'gatehouse',
      'service.version': version,
      'service.instance.id': instanceId,
      ...config.OTEL_RESOURCE_ATTRIBUTES,
      ...(config.OTEL_SERVICE_NAME === undefined ? {} : { 'service.name': config.OTEL_SERVICE_NAME }),
    },
  };
}
