export type MeasureAttributes = Readonly<Record<string, string | number | undefined>>;

/** Records one measured value. Attributes must be low-cardinality: never ids, keys or users. */
export type RecordValue = (value: number, attributes: MeasureAttributes) => void;

export interface HistogramOptions {
  name: string;
  description: string;
  /** A UCUM unit: `s`, `{token}`. */
  unit: string;
  /** Upper bounds of the buckets, in ascending order. */
  boundaries: readonly number[];
}

/**
 * Metrics defined by the semantic conventions of OpenTelemetry, exported by OTLP. All other metrics are in the
 * Prometheus registry of `metrics.ts`. Measuring code takes `Meter | undefined`, as with `Tracer`.
 */
export interface Meter {
  /** Recording never throws. */
  histogram(options: HistogramOptions): RecordValue;
  /** Sends the remaining values; gives up after a few seconds. */
  stop(): Promise<void>;
}
