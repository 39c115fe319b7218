import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A received span. */
export interface ReceivedSpan {
  service: string;
  traceId: string;
  spanId: string;
  /** Empty for the root of a trace. */
  parentSpanId: string;
  name: string;
  kind: 'internal' | 'server' | 'client' | 'other';
  failed: boolean;
  startMs: number;
  endMs: number;
  attributes: Record<string, unknown>;
  resource: Record<string, unknown>;
}

/** A received histogram series. */
export interface ReceivedHistogram {
  service: string;
  name: string;
  unit: string;
  boundaries: number[];
  count: number;
  sum: number;
  attributes: Record<string, unknown>;
  resource: Record<string, unknown>;
}

/**
 * The parts of OTLP in JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding) that the gateway sends.
 */
interface Traces {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { spans: WireSpan[] }[];
  }[];
}

interface Metrics {
  resourceMetrics: {
    resource: { attributes: Attribute[] };
    scopeMetrics: { metrics: WireHistogram[] }[];
  }[];
}

interface Attribute {
  key: string;
  value: { stringValue?: string; boolValue?: boolean; intValue?: string | number; doubleValue?: number };
}

interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attribute[];
  status: { code?: number };
}

interface WireHistogram {
  name: string;
  unit: string;
  histogram: {
    dataPoints: {
      attributes: Attribute[];
      count: string | number;
      sum: number;
      explicitBounds: number[];
    }[];
  };
}

const kinds: Record<number, ReceivedSpan['kind']> = { 1: 'internal', 2: 'server', 3: 'client' };
const failedStatus = 2;

/** An OTLP/HTTP receiver for traces and metrics. Stores everything it receives; returns errors if `status` is set. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** Every received series, including repeats. */
  readonly histograms: ReceivedHistogram[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  /** All received bodies as text. */
  raw = '';
  status = 200;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void text(request).then((body) => {
        const take = request.method === 'POST' ? this.#takers[request.url ?? ''] : undefined;
        const status = take === undefined ? 404 : this.status;
        this.headers.push(request.headers);
        if (status === 200) {
          this.raw += body;
          take?.(JSON.parse(body));
        }
        response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
      });
    });
  }

  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  readonly #takers: Record<string, (body: unknown) => void> = {
    '/v1/traces': (body) => this.#takeTraces(body as Traces),
    '/v1/metrics': (body) => this.#takeMetrics(body as Metrics),
  };

  #takeMetrics({ resourceMetrics }: Metrics): void {
    for (const { resource, scopeMetrics } of resourceMetrics) {
      const attributes = read(resource.attributes);
      for (const { name, unit, histogram } of scopeMetrics.flatMap((scope) => scope.metrics)) {
        for (const point of histogram.dataPoints) {
          this.histograms.push({
            service: String(attributes['service.name']),
            name,
            unit,
            boundaries: point.explicitBounds,
            count: Number(point.count),
            sum: point.sum,
            attributes: read(point.attributes),
            resource: attributes,
          });
        }
      }
    }
  }

  #takeTraces({ resourceSpans }: Traces): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      const attributes = read(resource.attributes);
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
        this.spans.push({
          service: String(attributes['service.name']),
          traceId: span.traceId,
          spanId: span.spanId,
          parentSpanId: span.parentSpanId ?? '',
          name: span.name,
          kind: kinds[span.kind] ?? 'other',
          failed: span.status.code === failedStatus,
          startMs: Number(span.startTimeUnixNano) / 1e6,
          endMs: Number(span.endTimeUnixNano) / 1e6,
          attributes: read(span.attributes),
          resource: attributes,
        });
      }
    }
  }
}

function read(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? value.doubleValue ?? Number(value.intValue),
    ]),
  );
}
