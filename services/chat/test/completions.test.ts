import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { chat, ChatHarness } from './chat-harness.ts';

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start();
});
afterAll(async () => harness.stop());

interface ErrorBody {
  error: { message: string; type: string; code: string; param: string | null; request_id: string };
}

async function complete(body: unknown, options: Parameters<ChatHarness['post']>[2] = {}): Promise<Response> {
  return harness.post('/v1/chat/completions', body, options);
}

function lastRawBody(): string {
  return (harness.simulator.requests.at(-1)?.raw_bytes ?? Buffer.alloc(0)).toString('utf8');
}

describe('a unary completion', () => {
  it('passes the answer through and records the run with its usage', async () => {
    const response = await complete(chat('hello there'), { headers: { 'x-session-id': 'talk-1' } });
    expect(response.status).toBe(200);
    const body = (await response.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
    expect(response.headers.get('x-gateway-provider')).toBe('simulator');
    expect(response.headers.get('x-gateway-model')).toBe('small');
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    expect(run).toMatchObject({
      status: 'ok',
      provider: 'simulator',
      model: 'small',
      session_id: 'talk-1',
      input_tokens: body.usage.prompt_tokens,
      output_tokens: body.usage.completion_tokens,
      usage_estimated: false,
      input_preview: 'hello there',
      trace_id: response.headers.get('x-trace-id'),
    });
    // A run that takes half a second on a busy machine has an event of its start as well.
    const events = await harness.rows(
      'select ended_at from chat.outbox where run_id = $1 and ended_at is not null',
      [run.run_id],
    );
    expect(events).toHaveLength(1);
  });

  it('has committed the run before the provider sees the request', async () => {
    const pending = complete(chat('slow', { x_simulator: { id: 'committed-first', delay_ms: 300 } }));
    await harness.simulator.waitForRequest((request) => request.id === 'committed-first');
    const [open] = await harness.rows(
      `select attempts::json as attempts from chat.runs_under_way where run::json ->> 'input_preview' = 'slow'`,
    );
    expect(open).toMatchObject({ attempts: { ended: [], open: { number: 1, provider: 'simulator' } } });
    expect((await pending).status).toBe(200);
  });

  it('sends the provider every parameter as the client wrote it, however odd', async () => {
    const source =
      '{ "model":"small", "seed": -9223372036854775808,"max_tokens":0,"stream":false,"stream_options":null,' +
      '"temperature":1.0,"functions":[],"new_field":{"a":[1e3]},"messages":[{"role":"developer","content":"\\ud800 \\u0000 \\u2028"}]}';
    const response = await complete(source);
    expect(response.status).toBe(200);
    expect(lastRawBody()).toBe(source);
  });

  it('keeps a prompt with NUL and lone surrogates from harming the record of any request', async () => {
    const bodies = Array.from({ length: 20 }, (_, index) =>
      complete(index % 2 === 0 ? chat(`bad \u0000 \ud800 ${index}`) : chat(`good ${index}`)),
    );
    const responses = await Promise.all(bodies);
    for (const response of responses) {
      expect(response.status).toBe(200);
      expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({ status: 'ok' });
    }
    const previews = await Promise.all(
      responses.map(
        async (response) => (await harness.endedRun(response.headers.get('x-run-id'))).input_preview,
      ),
    );
    expect(previews.slice(0, 2)).toEqual(['bad \ufffd \ufffd 0', 'good 1']);
  });

  it('passes a model name of 1.2 MB on and records its beginning', async () => {
    const x_simulator = { huge_model_bytes: 1_200_000 };
    const response = await harness.post('/v1/chat/completions', chat('x', { x_simulator }));
    expect(((await response.json()) as { model: string }).model).toHaveLength(1_200_000);
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    const [span] = run.spans;
    expect([run.response_model, span?.response_model]).toEqual(['m'.repeat(256), 'm'.repeat(256)]);
  });

  it.each([400, 500])('records a %d whose error code has 1 MB', async (status) => {
    const x_simulator = { status, huge_error_bytes: 1_000_000 };
    const response = await harness.post('/v1/chat/completions', chat('x', { model: 'quick', x_simulator }));
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'request_id', 'type']);
    expect(JSON.stringify(error).length).toBeLessThan(3_000);
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({ status: 'error' });
  });

  it('refuses a name of a model or an agent that is longer than any', async () => {
    for (const model of ['m'.repeat(9_000_000), `agent:${'a'.repeat(9_000_000)}`]) {
      const response = await harness.post('/v1/chat/completions', chat('x', { model }));
      expect(response.status).toBe(404);
      expect((await response.text()).length).toBeLessThan(1_000);
    }
  });

  it('keeps no previews where the tenant has turned them off', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, {
      allowedModels: undefined,
      previewsEnabled: false,
      previewMaxChars: 500,
      retentionDays: 90,
    });
    const response = await complete(chat('secret words'), { principal: { tenantId } });
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      input_preview: null,
      output_preview: null,
    });
  });

  it('uses the upstream name of a model, and falls back when its provider is down', async () => {
    await complete({ ...chat('x'), model: 'vendor/large' });
    expect(JSON.parse(lastRawBody())).toMatchObject({ model: 'large-upstream' });
    const response = await complete({ ...chat('x'), model: 'refusing-with-fallback' });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-gateway-model')).toBe('small');
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    expect(run).toMatchObject({ status: 'ok', model: 'small', request_model: 'refusing-with-fallback' });
    expect(run.spans).toMatchObject([
      { number: 1, provider: 'refusing', status: 'error', error_code: 'provider_unreachable' },
      { number: 2, provider: 'simulator', status: 'ok', error_code: null },
    ]);
  });

  it('retries what may succeed when made again, as one run with one attempt per call', async () => {
    const id = newId();
    const x_simulator = { id, attempts: [{ status: 500 }, { status: 429, retry_after: 0 }] };
    const response = await complete(chat('again', { x_simulator }));
    expect(response.status).toBe(200);
    expect(harness.simulator.requests.filter((request) => request.id === id)).toHaveLength(3);
    const runId = response.headers.get('x-run-id');
    const run = await harness.endedRun(runId);
    const body = (await response.json()) as { usage: { prompt_tokens: number } };
    expect(run).toMatchObject({
      status: 'ok',
      input_tokens: body.usage.prompt_tokens,
      usage_estimated: false,
    });
    expect(run.spans).toMatchObject([
      { status: 'error', http_status: 500 },
      { status: 'error', http_status: 429 },
      { status: 'ok', http_status: 200 },
    ]);
  });

  it('retries an answer that was cut off, since nothing of it has reached the client', async () => {
    const x_simulator = { id: newId(), attempts: [{ cut: 'mid_stream' }, { cut: 'before_headers' }] };
    const response = await complete(chat('cut', { x_simulator }));
    expect(response.status).toBe(200);
  });
});

describe('provider trouble', () => {
  const table: [string, Record<string, unknown>, number, Record<string, unknown>][] = [
    [
      'a 400 goes through with its words',
      {
        status: 400,
        error: { message: 'too long', code: 'context_length_exceeded', param: 'messages', type: 'x' },
      },
      400,
      {
        message: 'too long',
        type: 'x',
        code: 'context_length_exceeded',
        param: 'messages',
      },
    ],
    [
      'a 404 goes through, in words that name no account',
      { status: 404, error: { message: 'no such model for org-1' } },
      404,
      { message: expect.not.stringContaining('org-1'), type: 'invalid_request_error' },
    ],
    [
      'a 422 goes through',
      { status: 422, error: { message: 'unprocessable' } },
      422,
      { message: 'unprocessable', type: 'invalid_request_error' },
    ],
    [
      'a 401 is the gateway’s fault, not the client’s',
      { status: 401 },
      502,
      { type: 'api_error', code: 'provider_authentication' },
    ],
    [
      'a 403 is the gateway’s fault, not the client’s',
      { status: 403 },
      502,
      { type: 'api_error', code: 'provider_authentication' },
    ],
    ['a 500 after all is a 502', { status: 500 }, 502, { type: 'api_error', code: 'provider_error' }],
    [
      'broken JSON is a 502',
      { malformed: 'json' },
      502,
      { type: 'api_error', code: 'provider_invalid_response' },
    ],
    [
      'a cut before the headers is a 502',
      { cut: 'before_headers' },
      502,
      { type: 'api_error', code: 'provider_unreachable' },
    ],
    [
      'silence is a 504',
      { silent: 'before_headers' },
      504,
      { type: 'timeout_error', code: 'provider_timeout' },
    ],
  ];
  it.each(table)('%s', async (_name, fault, status, error) => {
    const response = await complete({ ...chat('x'), model: 'quick', x_simulator: fault });
    expect(response.status).toBe(status);
    const body = (await response.json()) as ErrorBody;
    expect(body.error).toMatchObject(error);
    const isTheirs = status === 400 || status === 422;
    expect(Object.hasOwn(body.error, 'request_id')).toBe(!isTheirs);
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    expect(run['status']).toBe('error');
  });

  it('a 429 after all is a 429 with the provider’s retry-after, and in words that name no account', async () => {
    const response = await complete({
      ...chat('x'),
      x_simulator: { status: 429, retry_after: 30, error: { message: 'slow down, org-1' } },
    });
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('30');
    expect(((await response.json()) as ErrorBody).error).toMatchObject({
      type: 'rate_limit_error',
      message: expect.not.stringContaining('org-1'),
    });
  });

  it('a wrong key of the operator is a 502 that names no key', async () => {
    const response = await complete({ ...chat('x'), model: 'wrongkey' });
    expect(response.status).toBe(502);
    expect(await response.text()).not.toContain('not-the-key');
  });
});

describe('a client that leaves', () => {
  it('closes the provider’s connection, and the run is cancelled with estimated usage', async () => {
    const id = newId();
    const abort = new AbortController();
    const pending = complete(chat('never mind', { x_simulator: { id, delay_ms: 10_000 } }), {
      signal: abort.signal,
    });
    await harness.simulator.waitForRequest((request) => request.id === id);
    const leftAt = Date.now();
    abort.abort();
    await expect(pending).rejects.toThrow();
    const seen = await harness.simulator.waitForRequest(
      (request) => request.id === id && request.client_closed_at !== null,
    );
    expect((seen.client_closed_at ?? 0) - leftAt).toBeLessThan(1_000);
    await eventually(async () => {
      const [run] = await harness.endedRuns(`data::json ->> 'input_preview' = 'never mind'`);
      expect(run).toMatchObject({ status: 'cancelled', usage_estimated: true });
      expect(run?.input_tokens).toBeGreaterThan(0);
      expect(run?.output_tokens).toBeGreaterThan(0);
    });
  });
});

describe('a client that leaves with a prompt that fills the sample of an estimate, and tools', () => {
  it.each([49_999, 50_000, 50_001, 120_000])('pays for %i characters', async (chars) => {
    const id = newId();
    const abort = new AbortController();
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
    const text = `${id} ${'word '.repeat(chars)}`.slice(0, chars);
    const pending = complete(chat(text, { tools, x_simulator: { id, delay_ms: 60_000 } }), {
      signal: abort.signal,
    });
    await harness.simulator.waitForRequest((request) => request.id === id);
    abort.abort();
    await expect(pending).rejects.toThrow();
    await eventually(async () => {
      const [run] = await harness.endedRuns(`data::json ->> 'input_preview' like '${id}%'`);
      expect(run).toMatchObject({ status: 'cancelled', usage_estimated: true });
      expect(run?.input_tokens).toBeGreaterThan(chars / 10);
    });
  });
});

describe('a bad request', () => {
  const table: [string, string, string | null, string][] = [
    ['null', 'null', null, 'invalid_type'],
    ['an array', '[]', null, 'invalid_type'],
    ['malformed JSON', '{"model":', null, 'invalid_json'],
    ['no model', '{"messages":[{"role":"user","content":"x"}]}', 'model', 'missing_required_parameter'],
    [
      'a model of another type',
      '{"model":1,"messages":[{"role":"user","content":"x"}]}',
      'model',
      'invalid_type',
    ],
    ['no messages', '{"model":"small"}', 'messages', 'missing_required_parameter'],
    ['empty messages', '{"model":"small","messages":[]}', 'messages', 'invalid_value'],
    ['messages: [null]', '{"model":"small","messages":[null]}', 'messages[0]', 'invalid_type'],
    [
      'a message without role',
      '{"model":"small","messages":[{"content":"x"}]}',
      'messages[0].role',
      'missing_required_parameter',
    ],
    [
      'a wrong type',
      '{"model":"small","messages":[{"role":"user","content":"x"}],"temperature":"hot"}',
      'temperature',
      'invalid_type',
    ],
  ];
  it.each(table)('%s is a 400 that names the field', async (_name, body, param, code) => {
    const before = harness.simulator.requests.length;
    const response = await complete(body);
    expect(response.status).toBe(400);
    expect(((await response.json()) as ErrorBody).error).toMatchObject({
      param,
      code,
      type: 'invalid_request_error',
    });
    expect(harness.simulator.requests).toHaveLength(before);
  });

  it('with an unknown model, or one the tenant may not use, is a 404', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, {
      allowedModels: { ids: ['vendor/large'] },
      previewsEnabled: true,
      previewMaxChars: 500,
      retentionDays: 90,
    });
    for (const [model, principal] of [
      ['nothing', {}],
      ['small', { tenantId }],
    ] as const) {
      const response = await complete({ ...chat('x'), model }, { principal });
      expect(response.status).toBe(404);
      expect(((await response.json()) as ErrorBody).error).toMatchObject({
        code: 'model_not_found',
        param: 'model',
      });
    }
  });

  it('of another content type is a 415, and a direct call without assertion a 401', async () => {
    expect((await complete('x', { headers: { 'content-type': 'text/plain' } })).status).toBe(415);
    expect((await complete(chat('x'), { headers: { 'x-gatehouse-assertion': 'forged' } })).status).toBe(401);
  });
});
