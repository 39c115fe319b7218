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
/** Spans that wait while a batch is on its way; more than that are left out. About 1 kB each. */
const maxQueued = 8_192;
/** How long stopping waits for the last spans. */
const longestStopMs = 3_000;
const complainEveryMs = 60_000;
/** Corrections of the wall clock smaller than this are not followed, so that spans keep their order. */
const clockToleranceMs = 50;

const sampled = 1;
const scope = { name: 'gatehouse', version };

const kinds: Record<SpanRecord['kind'], SpanKind> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
};

/**
 * Exports spans by OTLP/HTTP in JSON. OpenTelemetry's SDK batches, sends and retries; its tracer and its propagation
 * of contexts are left alone, since our spans are told when they are over: 5 to 10 µs of CPU each, sending included.
 */
export class OtlpTracer implements Tracer {
  readonly #processor: BatchSpanProcessor;
  readonly #resource: Resource;
  /** Wall clock minus monotonic clock. */
  #clockOffset = performance.timeOrigin;

  constructor(target: OtlpTarget, log: Logger) {
    this.#resource = resourceFromAttributes(target.resource);
    // Compression, certificates and time-outs it reads from the environment itself.
    const exporter = new OTLPTraceExporter({ url: target.url, headers: target.headers });
    this.#processor = new BatchSpanProcessor({
      exporter: complaining(exporter, log),
      maxQueueSize: maxQueued,
      scheduledDelayMillis: batchEveryMs,
    });
  }

  record(span: SpanRecord): void {
    // The processor leaves out what is not sampled as well, but then the work is done.
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

/** Says at most once a minute that spans are lost, and keeps it from the SDK, which would say so every time. */
function complaining(exporter: SpanExporter, log: Logger): SpanExporter {
  let lost = 0;
  let complainedAt = -Infinity;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error !== undefined) {
          lost += spans.length;
          if (monotonicMs() - complainedAt >= complainEveryMs) {
            log.warn({ err: result.error, spans: lost }, 'spans could not be exported and are lost');
            complainedAt = monotonicMs();
            lost = 0;
          }
        }
        // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- SUCCESS of a package that is not ours to import
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
