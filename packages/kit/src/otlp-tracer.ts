import { SpanKind, SpanStatusCode, type HrTime } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import { monotonicMs, nowMs, settledWithin } from './clock.ts';
import type { Logger } from './log.ts';
import type { OtlpTarget } from './otlp-settings.ts';
import type { SpanRecord, Tracer } from './tracing.ts';
import { version } from './version.ts';

const batchEveryMs = 2_000;
/** Spans waiting while a batch is sent; further spans are dropped. A span takes about 1 kB. */
const maxQueued = 8_192;
/** How long `stop` waits for the last spans. */
const longestStopMs = 3_000;
const logEveryMs = 60_000;
/** Smaller corrections of the wall clock are ignored, to keep spans in order. */
const clockToleranceMs = 50;

const sampled = 1;
const scope = { name: 'gatehouse', version };

const kinds: Record<SpanRecord['kind'], SpanKind> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
};

/**
 * Exports spans by OTLP/HTTP in JSON. The OpenTelemetry SDK batches, sends and retries. Its tracer and context
 * propagation are not used, because spans are recorded after they end: 5 to 10 µs of CPU per span, export included.
 */
export class OtlpTracer implements Tracer {
  readonly #processor: BatchSpanProcessor;
  readonly #resource: Resource;
  /** Wall clock minus monotonic clock. */
  #clockOffset = performance.timeOrigin;

  constructor(target: OtlpTarget, log: Logger) {
    this.#resource = resourceFromAttributes(target.resource);
    // The SDK reads compression, certificates and timeouts from the environment.
    const exporter = new OTLPTraceExporter({ url: target.url, headers: target.headers });
    this.#processor = new BatchSpanProcessor({
      exporter: loggingFailures(exporter, log),
      maxQueueSize: maxQueued,
      scheduledDelayMillis: batchEveryMs,
    });
  }

  record(span: SpanRecord): void {
    // The processor drops unsampled spans too, but only after the work of converting them.
    if ((Number.parseInt(span.context.flags, 16) & sampled) === 0) return;
    this.#followClock();
    this.#processor.onEnd(this.#readable(span));
  }

  async stop(): Promise<void> {
    await settledWithin(this.#processor.shutdown(), longestStopMs);
  }

  #readable(span: SpanRecord): ReadableSpan {
    const { traceId, spanId, parentSpanId } = span.context;
    const context = { traceId, spanId, traceFlags: sampled };
    return {
      name: span.name,
      kind: kinds[span.kind],
      spanContext: () => context,
      ...(parentSpanId === null ? {} : { parentSpanContext: { ...context, spanId: parentSpanId } }),
      startTime: hrTime(this.#clockOffset + span.startedAt),
      endTime: hrTime(this.#clockOffset + span.endedAt),
      duration: hrTime(span.endedAt - span.startedAt),
      status: { code: span.failed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
      attributes: Object.fromEntries(
        Object.entries(span.attributes).filter(([, value]) => value !== undefined),
      ),
      links: [],
      events: [],
      ended: true,
      resource: this.#resource,
      instrumentationScope: scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }

  #followClock(): void {
    const offset = nowMs() - monotonicMs();
    if (Math.abs(offset - this.#clockOffset) > clockToleranceMs) this.#clockOffset = offset;
  }
}

/** Logs lost spans at most once a minute, and hides the failure from the SDK, which would log every one. */
function loggingFailures(exporter: SpanExporter, log: Logger): SpanExporter {
  let lost = 0;
  let loggedAt = -Infinity;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error !== undefined) {
          lost += spans.length;
          if (monotonicMs() - loggedAt >= logEveryMs) {
            log.warn({ err: result.error, spans: lost }, 'failed to export spans; they are lost');
            loggedAt = monotonicMs();
            lost = 0;
          }
        }
        done({ code: 0 });
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

function hrTime(ms: number): HrTime {
  const seconds = Math.trunc(ms / 1_000);
  return [seconds, Math.trunc((ms - seconds * 1_000) * 1e6)];
}
