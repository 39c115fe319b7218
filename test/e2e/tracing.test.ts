import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { valueOf } from '@gatehouse/test/exposition';
import { TestGateway } from '@gatehouse/test/gateway';
import type { Answer } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { OtlpReceiver, type ReceivedHistogram, type ReceivedSpan } from '@gatehouse/test/otlp-receiver';

const prompt = 'a prompt that nobody else may read';
const clientSpan = '00f067aa0ba902b7';

const log = createLogger('edge', 'silent');
const logged = jest.spyOn(log, 'info');

let receiver: OtlpReceiver;
let gateway: TestGateway;
let tenant: TenantAccess;
let agentId: string;
beforeAll(async () => {
  receiver = await OtlpReceiver.start();
  gateway = await TestGateway.start({
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_METRIC_EXPORT_INTERVAL: '200' },
    edge: { log },
  });
  tenant = await gateway.makeTenant();
  const agent = await gateway.call('/v1/agents', {
    key: tenant.adminKey,
    body: { key: 'bot', model: 'small' },
  });
  agentId = (agent.body as { id: string }).id;
});
afterAll(async () => {
  await gateway.stop();
  await receiver.stop();
});

interface Completion {
  model: string;
  usage: { prompt_tokens: number; completion_tokens: number };
  choices: { message: { content: string } }[];
}

let traces = 0;
function newTraceId(): string {
  traces += 1;
  return `4bf92f3577b34da6a3ce929d0e0e${String(traces).padStart(4, '0')}`;
}

async function chat(traceId: string, fields: Record<string, unknown> = {}, flags = '01'): Promise<Answer> {
  return gateway.call('/v1/chat/completions', {
    key: tenant.userKey,
    body: { model: 'small', messages: [{ role: 'user', content: prompt }], ...fields },
    headers: { traceparent: `00-${traceId}-${clientSpan}-${flags}`, baggage: 'secret=1' },
  });
}

const spansOf = (traceId: string): ReceivedSpan[] =>
  receiver.spans.filter((span) => span.traceId === traceId);

/** The spans of a trace once its last one has come. */
async function traceOf(traceId: string): Promise<ReceivedSpan[]> {
  const ofEdge = (): string[] =>
    spansOf(traceId)
      .filter(({ service }) => service === 'edge')
      .map(({ kind }) => kind);
  await eventually(() => expect(ofEdge()).toContain('server'));
  await eventually(() => expect(spansOf(traceId).map((span) => span.kind)).toContain('internal'));
  return spansOf(traceId);
}

function find(spans: readonly ReceivedSpan[], service: string, name: string, kind: string): ReceivedSpan {
  const found = spans.find((span) => span.service === service && span.name === name && span.kind === kind);
  if (found === undefined)
    throw new Error(`no ${kind} span ${name} of ${service} in ${JSON.stringify(spans)}`);
  return found;
}

describe('one trace', () => {
  it("leads from the client's traceparent over edge, chat and agent to the provider", async () => {
    const traceId = newTraceId();
    const answer = await chat(traceId, { model: 'agent:bot' });
    expect([answer.status, answer.headers.get('x-trace-id')]).toEqual([200, traceId]);
    const resolve = 'gatehouse.agent.v1.AgentService/ResolveAgent';
    const spans = await eventually(async () => {
      const received = await traceOf(traceId);
      find(received, 'agent', resolve, 'server');
      return received;
    });
    const edge = find(spans, 'edge', 'POST /v1/chat/completions', 'server');
    const http = find(spans, 'chat', 'POST /v1/chat/completions', 'server');
    const call = find(spans, 'chat', resolve, 'client');
    const rpc = find(spans, 'agent', resolve, 'server');
    const run = find(spans, 'chat', 'chat agent:bot', 'internal');
    const attempt = find(spans, 'chat', 'chat small', 'client');
    expect([edge, http, call, rpc, run, attempt].map((span) => span.parentSpanId)).toEqual([
      clientSpan,
      edge.spanId,
      http.spanId,
      call.spanId,
      http.spanId,
      run.spanId,
    ]);
    expect(spans.filter((span) => span.failed)).toEqual([]);
    const runId = answer.headers.get('x-run-id');
    const { model, usage } = answer.body as Completion;
    expect(attempt.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'simulator',
      'gen_ai.request.model': 'small',
      'gen_ai.response.model': model,
      'gen_ai.usage.input_tokens': usage.prompt_tokens,
      'gen_ai.usage.output_tokens': usage.completion_tokens,
      'gen_ai.agent.id': agentId,
      'http.response.status_code': 200,
      'gatehouse.run_id': runId,
    });
    expect(run.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'agent:bot',
      'gen_ai.agent.id': agentId,
      'gatehouse.run_id': runId,
      'gatehouse.tenant_id': tenant.id,
      'gatehouse.status': 'ok',
      'gatehouse.calls': 1,
    });
    expect(edge.attributes).toMatchObject({
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
    });
    const sent = gateway.simulator.requests.at(-1)?.headers;
    expect(sent?.['traceparent']).toBe(`00-${traceId}-${attempt.spanId}-01`);
    expect(sent?.['baggage']).toBeUndefined();
    const stored = await eventually(async () => {
      const found = await gateway.call(`/v1/traces/${runId ?? ''}`, { key: tenant.adminKey });
      expect(found.status).toBe(200);
      return found.body as { trace_id: string };
    });
    expect(stored.trace_id).toBe(traceId);
    expect(logged).toHaveBeenCalledWith(
      expect.objectContaining({ trace_id: traceId, status: 200 }),
      'request',
    );
  });

  it('of a refused request has its code in the line of the edge, and none in the headers', async () => {
    const traceId = newTraceId();
    const answer = await chat(traceId, { model: 'nothing' });
    expect(answer.status).toBe(404);
    expect([...answer.headers.keys()].filter((name) => name.startsWith('x-gatehouse'))).toEqual([]);
    await eventually(() =>
      expect(logged).toHaveBeenCalledWith(
        expect.objectContaining({ trace_id: traceId, status: 404, code: 'model_not_found' }),
        'request',
      ),
    );
  });

  it('shows every call that a run took, each with its own parent for the provider', async () => {
    const traceId = newTraceId();
    await chat(traceId, { model: 'refusing-with-fallback', stream: true });
    const spans = await traceOf(traceId);
    const run = find(spans, 'chat', 'chat refusing-with-fallback', 'internal');
    const [refused, answered] = spans
      .filter((span) => span.parentSpanId === run.spanId)
      .toSorted(
        (a, b) => Number(a.attributes['gatehouse.attempt']) - Number(b.attributes['gatehouse.attempt']),
      );
    expect(refused).toMatchObject({
      kind: 'client',
      failed: true,
      attributes: { 'gen_ai.provider.name': 'refusing', 'error.type': 'provider_unreachable' },
    });
    expect(answered).toMatchObject({
      kind: 'client',
      failed: false,
      attributes: { 'gen_ai.provider.name': 'simulator', 'gen_ai.request.stream': true },
    });
    expect(answered?.attributes['gen_ai.response.time_to_first_chunk']).toEqual(expect.any(Number));
    expect(run).toMatchObject({ failed: false, attributes: { 'gatehouse.calls': 2 } });
  });

  it('says what went wrong, and where', async () => {
    const traceId = newTraceId();
    expect((await chat(traceId, { model: 'refusing' })).status).toBe(502);
    const spans = await traceOf(traceId);
    for (const [service, name, kind] of [
      ['edge', 'POST /v1/chat/completions', 'server'],
      ['chat', 'POST /v1/chat/completions', 'server'],
      ['chat', 'chat refusing', 'internal'],
      ['chat', 'chat refusing', 'client'],
    ] as const) {
      const span = find(spans, service, name, kind);
      expect(span.failed).toBe(true);
      const type = kind === 'server' ? '502' : 'provider_unreachable';
      expect(span.attributes['error.type']).toBe(type);
    }
  });

  it('is not exported where the client does not sample it, and still reaches the provider', async () => {
    const unsampled = newTraceId();
    await chat(unsampled, {}, '00');
    expect(gateway.simulator.requests.at(-1)?.headers['traceparent']).toMatch(
      new RegExp(`^00-${unsampled}-[0-9a-f]{16}-00$`),
    );
    const traceId = newTraceId();
    await chat(traceId);
    await traceOf(traceId);
    expect(spansOf(unsampled)).toEqual([]);
  });

  it('holds no prompt, no answer and no key', async () => {
    const traceId = newTraceId();
    const answer = await chat(traceId);
    await traceOf(traceId);
    const content = (answer.body as Completion).choices[0]?.message.content ?? '';
    expect(content.length).toBeGreaterThan(5);
    for (const secret of [prompt, content, tenant.userKey, 'provider-key'])
      expect(receiver.raw).not.toContain(secret);
  });
});

describe('metrics', () => {
  it('of chat count runs, calls and tokens by provider', async () => {
    await chat(newTraceId(), { stream: true });
    await chat(newTraceId(), { model: 'refusing' });
    const text = await gateway.metrics('chat-1');
    for (const [name, labels] of [
      ['gatehouse_run_duration_seconds_count', { status: 'ok', operation: 'chat' }],
      ['gatehouse_run_duration_seconds_count', { status: 'error', operation: 'chat' }],
      ['gatehouse_time_to_first_token_seconds_count', { provider: 'simulator' }],
      ['gatehouse_tokens_total', { provider: 'simulator', kind: 'input' }],
      ['gatehouse_tokens_total', { provider: 'simulator', kind: 'output' }],
      ['gatehouse_provider_requests_total', { provider: 'simulator', outcome: 'ok' }],
      ['gatehouse_provider_requests_total', { provider: 'refusing', outcome: 'provider_unreachable' }],
    ] as const) {
      expect([name, labels, valueOf(text, name, labels)]).toEqual([name, labels, expect.any(Number)]);
    }
    for (const secret of [tenant.id, tenant.userKey, prompt]) expect(text).not.toContain(secret);
  });

  it('of provider calls are sent by OTLP as the conventions of generative AI have them', async () => {
    const answers = [
      await chat(newTraceId(), { model: 'vendor/large' }),
      await chat(newTraceId(), { model: 'vendor/large', messages: [{ role: 'user', content: 'a b c d' }] }),
    ];
    const usages = answers.map(({ body }) => (body as Completion).usage);
    const cut = { cut: 'mid_stream', cut_after_chunks: 2, chunks: 6 };
    await chat(newTraceId(), { model: 'impatient', stream: true, x_simulator: cut });
    /** The latest of each series of a model: the receiver is sent sums. */
    const seriesOf = (model: string): ReceivedHistogram[] => [
      ...new Map(
        receiver.histograms
          .filter(({ attributes }) => attributes['gen_ai.request.model'] === model)
          .map((series) => [JSON.stringify([series.name, series.attributes]), series]),
      ).values(),
    ];
    const call = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'simulator',
      'gen_ai.request.model': 'vendor/large',
      'gen_ai.response.model': (answers[0]?.body as Completion).model,
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(gateway.simulator.baseUrl).port),
    };
    const tokens = { service: 'chat', name: 'gen_ai.client.token.usage', unit: '{token}', count: 2 };
    const sum = (part: keyof Completion['usage']) => usages.reduce((total, usage) => total + usage[part], 0);
    await eventually(() => {
      expect(seriesOf('vendor/large')).toEqual([
        expect.objectContaining({
          service: 'chat',
          name: 'gen_ai.client.operation.duration',
          unit: 's',
          count: 2,
          attributes: call,
        }),
        expect.objectContaining({
          ...tokens,
          sum: sum('prompt_tokens'),
          attributes: { ...call, 'gen_ai.token.type': 'input' },
        }),
        expect.objectContaining({
          ...tokens,
          sum: sum('completion_tokens'),
          attributes: { ...call, 'gen_ai.token.type': 'output' },
        }),
      ]);
      // Its tokens are an estimate, so no token usage is measured.
      expect(seriesOf('impatient')).toMatchObject([
        {
          name: 'gen_ai.client.operation.duration',
          count: 1,
          attributes: { 'error.type': expect.any(String) },
        },
      ]);
    });
    const [duration, input] = seriesOf('vendor/large');
    expect(duration?.sum).toBeLessThan(10);
    expect([duration?.boundaries[0], duration?.boundaries.at(-1)]).toEqual([0.01, 81.92]);
    expect([input?.boundaries[0], input?.boundaries.at(-1)]).toEqual([1, 67_108_864]);
  });

  it('of analytics show how long a transaction holds back what follow returns', async () => {
    const text = await gateway.metrics('analytics-1');
    expect(valueOf(text, 'gatehouse_follow_xmin_lag_seconds', {})).toBeGreaterThanOrEqual(0);
  });
});
