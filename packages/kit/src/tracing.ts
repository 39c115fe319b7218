import type { TraceContext } from './trace-context.ts';

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A finished span. Attributes must never hold prompts, answers or keys. */
export interface SpanRecord {
  context: TraceContext;
  name: string;
  kind: 'server' | 'client' | 'internal';
  /** By `monotonicMs`. */
  startedAt: number;
  /** By `monotonicMs`. */
  endedAt: number;
  attributes: SpanAttributes;
  /** Whether the work failed; if so, the attribute `error.type` has the reason. */
  failed: boolean;
}

/**
 * Collects spans and exports them later, in batches. Traced code takes `Tracer | undefined` and calls `tracer?.record({
 * … })`, so without a tracer the record is not even created.
 */
export interface Tracer {
  /** Drops spans of traces the caller did not sample. Never throws. */
  record(span: SpanRecord): void;
  /** Sends the remaining spans; gives up after a few seconds. */
  stop(): Promise<void>;
}
