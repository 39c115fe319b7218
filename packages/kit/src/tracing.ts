import type { TraceContext } from './trace-context.ts';

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** One piece of work, told when it is over. Attributes never hold prompts, answers or keys. */
export interface SpanRecord {
  context: TraceContext;
  name: string;
  kind: 'server' | 'client' | 'internal';
  /** By `monotonicMs`. */
  startedAt: number;
  /** By `monotonicMs`. */
  endedAt: number;
  attributes: SpanAttributes;
  /** Whether the work failed; then `error.type` among the attributes says how. */
  failed: boolean;
}

/**
 * Takes in spans and exports them later, in batches. What is traced has `Tracer | undefined` and calls
 * `tracer?.record({ … })`: without a tracer that is one comparison, and the record is never made.
 */
export interface Tracer {
  /** Spans of traces that their caller did not sample are left out. Never throws. */
  record(span: SpanRecord): void;
  /** Sends what is left, as far as that is done within seconds. */
  stop(): Promise<void>;
}
