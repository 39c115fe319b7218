import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { ChatHarness, makeAgent } from './chat-harness.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';

/** Counts of the tokens of requests, by providers and as estimates. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const anthropic = { kind: 'anthropic', base_url: provider.url, api_key_env: 'UNUSED', max_retries: 0 };
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { name: 'simulator', ...anthropic },
        { name: 'vendor', ...anthropic, max_retries: 1 },
        { name: 'other', kind: 'openai', base_url: `${provider.url}/v1`, max_retries: 0 },
      ],
      models: [
        { id: 'claude', provider: 'simulator', upstream_model: 'claude-upstream' },
        { id: 'retried', provider: 'vendor' },
        {
          ...{ id: 'with-fallbacks', provider: 'simulator', upstream_model: 'claude-upstream' },
          fallbacks: ['gpt', 'retried'],
        },
        { id: 'gpt', provider: 'other', fallbacks: ['claude'] },
      ],
      embeddings: undefined,
    },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

type Options = Parameters<ChatHarness['post']>[2];

const count = (body: unknown, options: Options = {}): Promise<Response> =>
  harness.post('/v1/messages/count_tokens?beta=true', body, {
    ...options,
    headers: { 'x-gatehouse-dialect': 'messages', ...options.headers },
  });

const asking = (text: string, fields: object = {}): Record<string, unknown> => ({
  ...{ model: 'claude', messages: [{ role: 'user', content: text }] },
  ...fields,
});

const answer = whole('{ "input_tokens" : 14, "newer": 1.0 }');

describe('a count', () => {
  it('goes out and comes back byte for byte but for the model, and is no run', async () => {
    provider.answer(answer);
    const body =
      '{ "model":"claude",  "newer":[1.0],"messages":[{"role":"user","content":"Größe \\ud800?"}] }';
    const versions = { 'anthropic-version': '2024-01-01', 'anthropic-beta': 'token-counting-1' };
    const tenantId = newId();
    const response = await count(body, { principal: { tenantId }, headers: versions });
    expect([response.status, await response.text()]).toEqual([200, '{ "input_tokens" : 14, "newer": 1.0 }']);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      ...{ 'content-type': 'application/json', 'x-request-id': expect.any(String) },
      ...{ 'x-gateway-model': 'claude', 'x-gateway-provider': 'simulator' },
    });
    expect(response.headers.get('x-gateway-estimated')).toBeNull();
    expect(response.headers.get('x-run-id')).toBeNull();
    const [received] = provider.received;
    expect(received?.path).toBe('/v1/messages/count_tokens');
    expect(received?.body.toString()).toBe(body.replace('"claude"', '"claude-upstream"'));
    expect(received?.headers).toMatchObject({ 'x-api-key': 'provider-key', ...versions });
    for (const table of ['logged_runs', 'outbox', 'run_costs'])
      expect(await harness.rows(`select 1 from chat.${table} where tenant_id = $1`, [tenantId])).toEqual([]);
  });

  it('takes one of the counts of its key and its tenant, and nothing of a limit of requests', async () => {
    const [tenantId, keyId] = [newId(), newId()];
    harness.settings.set(tenantId, { limited: [Resource.REQUESTS, Resource.CONCURRENCY, Resource.BUDGET] });
    provider.answer(answer);
    harness.asks.length = 0;
    expect((await count(asking('hi'), { principal: { tenantId, keyId } })).status).toBe(200);
    const asked = harness.asks.filter(({ needs }) => needs.length > 0);
    expect(asked).toMatchObject(
      [keyId, tenantId].map((subjectId) => ({ subjectId, resource: Resource.COUNTS, needs: [1n] })),
    );
  });

  it('is refused beyond the bound of its key, before its body is read, in the shape of the dialect', async () => {
    const tenantId = newId();
    harness.usedUp.add(tenantId);
    provider.answer(answer);
    const response = await count('no JSON', { principal: { tenantId } });
    expect([response.status, provider.received.length]).toEqual([429, 0]);
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type: 'rate_limit_error', details: { error_code: 'rate_limit_exceeded' } },
    });
    const wait = Number(response.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
    expect(harness.alertsOf(tenantId, 'limit.exceeded')).toEqual([]);
  });

  it('of an agent has its prompt and its tools, and not its parameters', async () => {
    harness.agents.set(
      'worker',
      makeAgent({
        ...{ key: 'worker', model: 'claude', systemPrompt: 'Be kind.', tools: { maxIterations: 4 } },
        parametersJson: '{"temperature":0.3,"max_tokens":50}',
      }),
    );
    const tool = {
      name: 'lookup',
      description: 'Looks up.',
      schemaJson: '{"type":"object"}',
      tool: 'lookup',
    };
    harness.toolLists.tools = [
      { ...tool, serverId: 's', timeoutMs: 1_000, executor: 'agent', repeatable: true },
    ];
    provider.answer(answer);
    expect((await count(asking('hi', { model: 'agent:worker' }))).status).toBe(200);
    expect(JSON.parse(provider.received[0]?.body.toString() ?? '')).toEqual({
      ...asking('hi', { model: 'claude-upstream', system: 'Be kind.' }),
      tools: [{ name: 'lookup', description: 'Looks up.', input_schema: { type: 'object' } }],
    });
    // An estimate has its prompt and tools too.
    const [plain, withAgent] = [asking('hi', { model: 'gpt' }), asking('hi', { model: 'agent:guesser' })];
    harness.agents.set(
      'guesser',
      makeAgent({ ...harness.agents.get('worker'), key: 'guesser', model: 'gpt' }),
    );
    const [few, more] = [await tokensOf(await count(plain)), await tokensOf(await count(withAgent))];
    expect(more).toBeGreaterThan(few + 10);
    harness.agents.set('worker', makeAgent({ key: 'worker', model: 'claude', status: 'disabled' }));
    const refused = await count(asking('hi', { model: 'agent:worker' }));
    expect([refused.status, provider.received.length]).toEqual([403, 1]);
  });

  it('for a model of another API is an estimate that says so, without a call', async () => {
    provider.answer();
    const words = 'one two three four five six seven eight nine ten';
    const response = await count(asking(words, { model: 'gpt' }));
    expect(response.headers.get('x-gateway-estimated')).toBe('true');
    expect(response.headers.get('x-gateway-model')).toBe('gpt');
    expect(await response.json()).toEqual({ input_tokens: 10 });
    const source = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(100_000) };
    const content = [
      { type: 'text', text: words },
      { type: 'image', source },
    ];
    const pictured = await count(asking('', { model: 'gpt', messages: [{ role: 'user', content }] }));
    expect(await pictured.json()).toEqual({ input_tokens: 1_610 });
    expect(provider.received).toEqual([]);
  });

  it('follows the access of its client and the shape of a request', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, { allowedModels: { ids: ['gpt'] } });
    provider.answer();
    for (const [body, status, code] of [
      [asking('hi'), 404, 'model_not_found'],
      [asking('hi', { model: 'none' }), 404, 'model_not_found'],
      [asking('hi', { messages: 'hi' }), 400, 'invalid_type'],
      [asking('hi', { tools: {} }), 400, 'invalid_type'],
    ] as const) {
      const response = await count(body, { principal: { tenantId } });
      expect([response.status, await response.json()]).toEqual([
        status,
        expect.objectContaining({
          error: expect.objectContaining({ details: expect.objectContaining({ error_code: code }) }),
        }),
      ]);
    }
    expect(provider.received).toEqual([]);
  });
});

describe('a provider that fails', () => {
  it('is asked again where that helps, and models of the same API after it', async () => {
    provider.answer(whole({}, 503), answer);
    expect((await count(asking('hi', { model: 'retried' }))).status).toBe(200);
    provider.answer(whole({}, 500), answer);
    const response = await count(asking('hi', { model: 'with-fallbacks' }));
    expect([response.status, response.headers.get('x-gateway-model')]).toEqual([200, 'retried']);
    expect(provider.received).toHaveLength(2);
  });

  it.each([
    [400, { type: 'error', error: { type: 'invalid_request_error', message: 'odd' } }, 400],
    [413, { type: 'error', error: { type: 'request_too_large', message: 'large' } }, 413],
  ])('with %d keeps its own words', async (status, body, expected) => {
    provider.answer(whole(body, status));
    const response = await count(asking('hi'));
    expect([response.status, await response.json()]).toEqual([expected, body]);
  });

  it.each([
    [401, 502, 'provider_authentication'],
    [404, 404, 'provider_not_found'],
    [429, 429, 'provider_rate_limited'],
    [500, 502, 'provider_error'],
    [529, 529, 'provider_overloaded'],
  ])('with %d is %d in the words of Gatehouse', async (status, expected, code) => {
    provider.answer(whole({ error: { type: 'x', message: 'of account 7' } }, status, { 'retry-after': '9' }));
    const response = await count(asking('hi'));
    const text = await response.text();
    expect([response.status, JSON.parse(text)]).toMatchObject([
      expected,
      { error: { details: { error_code: code } } },
    ]);
    expect(text).not.toContain('account 7');
    if (expected === 429) expect(response.headers.get('retry-after')).toBe('9');
  });

  it.each([
    ['another answer', '{"tokens":1}'],
    ['a list', '[]'],
    ['no JSON', 'no JSON'],
    ['a large answer', `{"input_tokens":1,"x":"${'x'.repeat(70_000)}"}`],
  ])('that answers with %s is 502', async (_name, text) => {
    provider.answer(whole(text));
    const response = await count(asking('hi'));
    expect([response.status, await response.text()]).toEqual([
      502,
      expect.stringContaining('provider_invalid_response'),
    ]);
  });

  it('does not open the breaker of its model', async () => {
    const tenantId = newId();
    for (let call = 0; call < 30; call += 1) {
      provider.answer(whole({}, 500));
      expect((await count(asking('hi'), { principal: { tenantId } })).status).toBe(502);
    }
    const message = { id: 'm', type: 'message', role: 'assistant', content: [], stop_reason: 'end_turn' };
    provider.answer(whole({ ...message, model: 'claude-x', usage: { input_tokens: 1, output_tokens: 1 } }));
    const response = await harness.post(
      '/v1/messages',
      asking('hi', { model: 'with-fallbacks', max_tokens: 5 }),
      { principal: { tenantId }, headers: { 'x-gatehouse-dialect': 'messages' } },
    );
    expect([response.status, response.headers.get('x-gateway-model')]).toEqual([200, 'with-fallbacks']);
  });

  it('is no longer waited for when the client leaves', async () => {
    let closed = false;
    provider.answer(({ response }) => response.on('close', () => (closed = true)));
    const leave = new AbortController();
    const left = count(asking('hi'), { signal: leave.signal }).catch(() => null);
    await eventually(() => expect(provider.received).toHaveLength(1));
    leave.abort();
    await left;
    await eventually(() => expect(closed).toBe(true));
  });
});

async function tokensOf(response: Response): Promise<number> {
  return ((await response.json()) as { input_tokens: number }).input_tokens;
}
