import { z } from 'zod';
import { newId } from './ids.ts';
import { keyValueList } from './key-value-list.ts';
import { version } from './version.ts';

const receiver = z.url({ protocol: /^https?$/ });

/**
 * OpenTelemetry's own settings of exporters and resources, of those that are meant for traces and metrics
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
 */
export const otlpSettings = {
  /** Base URL of an OTLP/HTTP receiver; unset means that nothing is sent. */
  OTEL_EXPORTER_OTLP_ENDPOINT: receiver.optional(),
  /** The whole URL for traces, instead of the base URL. */
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: receiver.optional(),
  /** The whole URL for metrics, instead of the base URL. */
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: receiver.optional(),
  /** `name=value,…` in percent-encoding, such as the receiver's key. */
  OTEL_EXPORTER_OTLP_HEADERS: keyValueList.optional(),
  /** `none`, where the receiver takes no traces. */
  OTEL_TRACES_EXPORTER: z.string().optional(),
  /** `none`, where the receiver takes no metrics. */
  OTEL_METRICS_EXPORTER: z.string().optional(),
  /** Milliseconds from one export of metrics to the next; 60,000 unless set. */
  OTEL_METRIC_EXPORT_INTERVAL: z.coerce.number().int().min(1).optional(),
  /** Default: the service's name. */
  OTEL_SERVICE_NAME: z.string().optional(),
  /** `name=value,…` in percent-encoding. */
  OTEL_RESOURCE_ATTRIBUTES: keyValueList.optional(),
  OTEL_SDK_DISABLED: z.string().optional(),
};

export type OtlpConfig = Readonly<z.output<z.ZodObject<typeof otlpSettings>>>;

/** Where one kind of signal goes to. */
export interface OtlpTarget {
  url: string;
  headers: Record<string, string>;
  /** Attributes of the process that sends it. */
  resource: Record<string, string>;
}

/** Of this process, in everything that it sends. */
const instanceId = newId();

/** Undefined where nothing is to be sent. */
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
