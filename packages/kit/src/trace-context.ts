import { pooledRandom } from './random.ts';

/** W3C Trace Context (https://www.w3.org/TR/trace-context/), version 00. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  traceId: string;
  /** The span of this hop, 16 lower-case hexadecimal digits. */
  spanId: string;
  /** The parent span; null at the root of the trace. */
  parentSpanId: string | null;
  flags: string;
}

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Continues the caller's trace with a new span. Starts a trace when the header is missing or malformed. */
export function continueTrace(traceparent: string | undefined): TraceContext {
  const match = traceparent === undefined ? null : pattern.exec(traceparent);
  const [, version, traceId, parentId, flags, rest] = match ?? [];
  const usable =
    traceId !== undefined &&
    flags !== undefined &&
    version !== 'ff' &&
    !(version === '00' && rest !== undefined) &&
    !/^0+$/.test(traceId) &&
    !/^0+$/.test(parentId ?? '');
  const random = pooledRandom(24).toString('hex');
  if (usable) return { traceId, spanId: random.slice(0, 16), parentSpanId: parentId ?? null, flags };
  return { traceId: random.slice(0, 32), spanId: random.slice(32), parentSpanId: null, flags: '01' };
}

/** A child of a span in this process. */
export function childSpan(parent: TraceContext): TraceContext {
  const { traceId, spanId: parentSpanId, flags } = parent;
  return { traceId, spanId: pooledRandom(8).toString('hex'), parentSpanId, flags };
}

export function toTraceparent(context: TraceContext): string {
  return `00-${context.traceId}-${context.spanId}-${context.flags}`;
}
