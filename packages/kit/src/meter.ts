export type MeasureAttributes = Readonly<Record<string, string | number | undefined>>;

/** Notes one measured value. Attributes are few: never ids, keys or users. */
export type RecordValue = (value: number, attributes: MeasureAttributes) => void;

export interface HistogramOptions {
  name: string;
  description: string;
  /** As UCUM has it: `s`, `{token}`. */
  unit: string;
  /** Upper bounds of its buckets, in order. */
  boundaries: readonly number[];
}

/**
 * Metrics that a semantic convention of OpenTelemetry defines, sent by OTLP; our own are in the registry of
 * `metrics.ts`. What is measured has `Meter | undefined`, as with `Tracer`.
 */
export interface Meter {
  /** Recording never throws. */
  histogram(options: HistogramOptions): RecordValue;
  /** Sends what is left, as far as that is done within seconds. */
  stop(): Promise<void>;
}
