import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { OtlpReceiver } from '@gatehouse/test/otlp-receiver';
import { z } from 'zod';
import { monotonicMs } from './clock.ts';
import { parseConfig } from './config.ts';
import { createTracer } from './create-tracer.ts';
import { createLogger } from './log.ts';
import { otlpSettings } from './otlp-settings.ts';
import { childSpan, continueTrace } from './trace-context.ts';
import type { SpanRecord, Tracer } from './tracing.ts';

const log = createLogger('test', 'silent');
const config = (environment: Record<string, string>) => parseConfig(z.object(otlpSettings), environment);
const span = (fields: Partial<SpanRecord> = {}): SpanRecord => ({
  context: continueTrace(undefined),
  name: 'work',
  kind: 'internal',
  startedAt: monotonicMs() - 20,
  endedAt: monotonicMs(),
  attributes: {},
  failed: false,
  ...fields,
});

let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await OtlpReceiver.start();
});
afterEach(() => receiver.stop());

async function tracerFor(environment: Record<string, string> = {}): Promise<Tracer> {
  const settings = config({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...environment });
  const tracer = await createTracer('chat', settings, log);
  if (tracer === undefined) throw new Error('nothing is traced');
  return tracer;
}

describe('a tracer', () => {
  it.each([
    ['without an endpoint', {}],
    ['with an empty one', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    [
      'without an exporter',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_TRACES_EXPORTER: 'none' },
    ],
    ['switched off', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SDK_DISABLED: 'true' }],
  ])('there is none %s', async (_name, environment) => {
    expect(await createTracer('chat', config(environment), log)).toBeUndefined();
  });

  it('sends what is left when it stops, with ids, times, attributes and what the process is', async () => {
    const tracer = await tracerFor({
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20secret, x-other=1',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.namespace=own',
    });
    const before = Date.now();
    const context = continueTrace('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01');
    const inner = childSpan(context);
    tracer.record(span({ context: inner, name: 'inner', kind: 'client', failed: true }));
    tracer.record(
      span({
        context,
        name: 'outer',
        kind: 'server',
        attributes: { a: 'b', n: 3, f: 0.5, t: true, u: undefined },
      }),
    );
    await tracer.stop();
    expect(receiver.headers[0]).toMatchObject({ 'x-key': 'a secret', 'x-other': '1' });
    expect(receiver.spans).toMatchObject([
      { name: 'inner', kind: 'client', spanId: inner.spanId, parentSpanId: context.spanId, failed: true },
      {
        name: 'outer',
        kind: 'server',
        spanId: context.spanId,
        parentSpanId: '00f067aa0ba902b7',
        failed: false,
      },
    ]);
    const [, outer] = receiver.spans;
    expect(outer?.traceId).toBe('4bf92f3577b34da6a3ce929d0e0e4736');
    expect(outer?.attributes).toEqual({ a: 'b', n: 3, f: 0.5, t: true });
    expect(outer?.resource).toMatchObject({
      'service.name': 'chat',
      'service.namespace': 'own',
      'deployment.environment.name': 'test',
    });
    expect(Math.abs((outer?.startMs ?? 0) + 20 - before)).toBeLessThan(1_000);
    expect((outer?.endMs ?? 0) - (outer?.startMs ?? 0)).toBeGreaterThanOrEqual(19);
  });

  it('sends in batches while it runs, and the root of a trace without a parent', async () => {
    const tracer = await tracerFor({ OTEL_SERVICE_NAME: 'own-name' });
    tracer.record(span());
    await eventually(() => expect(receiver.spans).toMatchObject([{ service: 'own-name', parentSpanId: '' }]));
    await tracer.stop();
  });

  it('leaves out traces that the caller did not sample', async () => {
    const tracer = await tracerFor();
    tracer.record(
      span({ context: continueTrace('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00') }),
    );
    await tracer.stop();
    expect(receiver.headers).toEqual([]);
  });

  it('says once that spans are lost, and goes on', async () => {
    receiver.status = 400;
    const warn = jest.spyOn(log, 'warn').mockImplementation(() => undefined);
    const tracer = await tracerFor();
    // More than one batch.
    for (let count = 0; count < 1_500; count += 1) tracer.record(span());
    await eventually(() => expect(receiver.headers.length).toBeGreaterThanOrEqual(2));
    await tracer.stop();
    expect(warn.mock.calls.map(([, message]) => message)).toEqual(['failed to export spans; they are lost']);
    warn.mockRestore();
  });

  it('does not hold up the end of the process when no receiver listens', async () => {
    const tracer = await tracerFor({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
    tracer.record(span());
    const began = monotonicMs();
    await tracer.stop();
    expect(monotonicMs() - began).toBeLessThan(5_000);
  });
});

describe('settings of traces', () => {
  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'no-value'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'x=%zz'],
    ['OTEL_RESOURCE_ATTRIBUTES', '=value'],
  ])('refuse %s=%s', (name, value) => {
    expect(() => config({ [name]: value })).toThrow(name);
  });

  it('take the whole URL for traces before the base URL', async () => {
    const settings = config({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/v1/traces`,
    });
    const tracer = await createTracer('chat', settings, log);
    tracer?.record(span());
    await tracer?.stop();
    expect(receiver.spans).toHaveLength(1);
  });
});
