import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import { settledWithin } from './clock.ts';
import type { Logger } from './log.ts';
import type { HistogramOptions, Meter, RecordValue } from './meter.ts';
import type { OtlpTarget } from './otlp-settings.ts';
import { version } from './version.ts';

/** How long `stop` waits for the last export. */
const longestStopMs = 3_000;

/** Exports metrics by OTLP/HTTP in JSON with the OpenTelemetry SDK. */
export class OtlpMeter implements Meter {
  readonly #provider: MeterProvider;

  constructor(target: OtlpTarget, everyMs: number, log: Logger) {
    // The SDK reads compression, certificates, timeouts and temporality from the environment.
    const exporter = new LoggingExporter({ url: target.url, headers: target.headers }, log);
    this.#provider = new MeterProvider({
      resource: resourceFromAttributes(target.resource),
      readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: everyMs })],
    });
  }

  histogram({ name, description, unit, boundaries }: HistogramOptions): RecordValue {
    const advice = { explicitBucketBoundaries: [...boundaries] };
    const histogram = this.#provider
      .getMeter('gatehouse', version)
      .createHistogram(name, { description, unit, advice });
    return (value, attributes) => {
      const present = Object.entries(attributes).filter(([, attribute]) => attribute !== undefined);
      histogram.record(value, Object.fromEntries(present));
    };
  }

  async stop(): Promise<void> {
    await settledWithin(this.#provider.shutdown(), longestStopMs);
  }
}

type Exported = Parameters<PushMetricExporter['export']>;

/** Logs the first failed export after a successful one, but not each further failure. */
class LoggingExporter extends OTLPMetricExporter {
  readonly #log: Logger;
  #failing = false;

  constructor(options: { url: string; headers: Record<string, string> }, log: Logger) {
    super(options);
    this.#log = log;
  }

  override export(metrics: Exported[0], done: Exported[1]): void {
    super.export(metrics, (result) => {
      const { error } = result;
      if (error !== undefined && !this.#failing) this.#log.warn({ err: error }, 'failed to export metrics');
      this.#failing = error !== undefined;
      done(result);
    });
  }
}
