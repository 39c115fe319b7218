import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { ChatHarness } from './chat-harness.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';

/** Counts of the tokens of requests for models of another API than the client's. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const at = { base_url: provider.url, api_key_env: 'UNUSED', max_retries: 0 };
  const bedrock = { ...at, kind: 'bedrock', region: 'eu-central-1' };
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { ...at, name: 'openai', kind: 'openai', base_url: `${provider.url}/v1` },
        { ...at, name: 'anthropic', kind: 'anthropic' },
        { ...at, name: 'google', kind: 'google' },
        { ...bedrock, name: 'bedrock' },
      ],
      models: [
        { id: 'responses', provider: 'openai', api: 'responses', upstream_model: 'gpt-up' },
        { id: 'messages', provider: 'anthropic', upstream_model: 'claude-up' },
        { id: 'gemini', provider: 'google', upstream_model: 'gemini-up' },
        { id: 'converse', provider: 'bedrock', upstream_model: 'eu.anthropic.claude-x-v1:0' },
        { id: 'other', provider: 'bedrock', upstream_model: 'eu.amazon.nova-lite-v1:0' },
        { id: 'invoked', provider: 'bedrock', api: 'messages', upstream_model: 'anthropic.claude-new' },
        { id: 'old-server', provider: 'openai', api: 'responses' },
        { id: 'chat', provider: 'openai' },
        { id: 'with-fallback', provider: 'google', fallbacks: ['chat', 'messages'] },
      ],
      embeddings: undefined,
    },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const text = 'one two three four five six seven';
const schema = { type: 'object', properties: { city: { type: 'string' } } };
const clients = {
  messages: {
    path: () => '/v1/messages/count_tokens',
    body: {
      ...{ system: 'Be kind.', messages: [{ role: 'user', content: text }] },
      tools: [{ name: 'weather', input_schema: schema }],
    },
    answer: (tokens: number) => ({ input_tokens: tokens }),
  },
  responses: {
    path: () => '/v1/responses/input_tokens',
    body: {
      ...{ instructions: 'Be kind.', input: text },
      tools: [{ type: 'function', name: 'weather', parameters: schema, strict: false }],
    },
    answer: (tokens: number) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  },
  gemini: {
    path: (model: string) => `/v1beta/models/${model}:countTokens`,
    body: {
      generateContentRequest: {
        systemInstruction: { parts: [{ text: 'Be kind.' }] },
        contents: [{ role: 'user', parts: [{ text }] }],
        tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: schema }] }],
      },
    },
    answer: (tokens: number) => ({ totalTokens: tokens }),
  },
} as const;
type Client = keyof typeof clients;

const providers = {
  messages: {
    path: '/v1/messages/count_tokens',
    body: {
      ...{ model: 'claude-up', system: [{ type: 'text', text: 'Be kind.' }] },
      messages: [{ role: 'user', content: [{ type: 'text', text }] }],
      tools: [{ name: 'weather', input_schema: schema }],
    },
    answer: { input_tokens: 42 },
  },
  responses: {
    path: '/v1/responses/input_tokens',
    body: {
      ...{ model: 'gpt-up', instructions: 'Be kind.' },
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
      tools: [{ type: 'function', name: 'weather', parameters: schema, strict: false }],
    },
    answer: { object: 'response.input_tokens', input_tokens: 42 },
  },
  gemini: {
    path: '/v1beta/models/gemini-up:countTokens',
    body: {
      generateContentRequest: {
        model: 'models/gemini-up',
        systemInstruction: { parts: [{ text: 'Be kind.' }] },
        contents: [{ role: 'user', parts: [{ text }] }],
        tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: schema }] }],
      },
    },
    answer: { totalTokens: 42, promptTokensDetails: [] },
  },
  converse: {
    path: '/model/anthropic.claude-x-v1%3A0/count-tokens',
    body: {
      input: {
        converse: {
          messages: [{ role: 'user', content: [{ text }] }],
          system: [{ text: 'Be kind.' }],
          toolConfig: { tools: [{ toolSpec: { name: 'weather', inputSchema: { json: schema } } }] },
        },
      },
    },
    answer: { inputTokens: 42 },
  },
} as const;

const count = (
  client: Client,
  model: string,
  fields: object = {},
  tenantId: string = newId(),
): Promise<Response> => {
  const body = { ...clients[client].body, ...fields };
  return harness.post(clients[client].path(model), client === 'gemini' ? body : { model, ...body }, {
    ...{ principal: { tenantId }, headers: { 'x-gatehouse-dialect': client } },
  });
};
const isEstimate = (response: Response): boolean => response.headers.get('x-gateway-estimated') === 'true';
const cannotCount = whole({ message: "The provided model doesn't support counting tokens." }, 400);

describe('a count for a model of another API', () => {
  const pairs = (Object.keys(clients) as Client[]).flatMap((client) =>
    (Object.keys(providers) as (keyof typeof providers)[])
      .filter((api) => api !== client)
      .map((api) => [client, api] as const),
  );

  it.each(pairs)('of a client of %s is that of a provider with %s', async (client, api) => {
    const { path, body, answer } = providers[api];
    provider.answer(whole(answer));
    const response = await count(client, api);
    expect([response.status, await response.json()]).toEqual([200, clients[client].answer(42)]);
    expect(response.headers.get('x-gateway-model')).toBe(api);
    expect(isEstimate(response)).toBe(false);
    expect(provider.received.map((received) => received.path)).toEqual([path]);
    expect(JSON.parse(provider.received[0]?.body.toString() ?? '')).toEqual(body);
    expect(provider.received[0]?.headers).not.toHaveProperty('anthropic-beta');
  });

  it('of a body with a byte order mark is that of one without', async () => {
    provider.answer(whole(providers.gemini.answer));
    const { path, body, answer } = clients.messages;
    const text = `\ufeff${JSON.stringify({ model: 'gemini', ...body })}`;
    const response = await harness.post(path(), text, { headers: { 'x-gatehouse-dialect': 'messages' } });
    expect([response.status, await response.json()]).toEqual([200, answer(42)]);
    expect(JSON.parse(provider.received[0]?.body.toString() ?? '')).toEqual(providers.gemini.body);
  });

  it('has nothing of a request that counts refuse', async () => {
    provider.answer(whole(providers.converse.answer), whole(providers.messages.answer));
    const thinking = { type: 'enabled', budget_tokens: 2_000 };
    expect((await count('messages', 'converse', { thinking, temperature: 1, stream: true })).status).toBe(
      200,
    );
    const fields = { max_output_tokens: 99, temperature: 0.5, stream: true, store: false };
    expect((await count('responses', 'messages', fields)).status).toBe(200);
    const [asked, other] = provider.received.map(({ body }) => JSON.parse(body.toString()) as object);
    expect(asked).toEqual({
      input: {
        converse: {
          ...providers.converse.body.input.converse,
          additionalModelRequestFields: { thinking },
        },
      },
    });
    expect(other).toEqual(providers.messages.body);
  });

  it('is asked of fallbacks that can count, and is an estimate where none can', async () => {
    provider.answer(whole({}, 500), whole(providers.messages.answer));
    const fallen = await count('responses', 'with-fallback');
    expect([fallen.status, fallen.headers.get('x-gateway-model')]).toEqual([200, 'messages']);
    provider.answer();
    for (const client of Object.keys(clients) as Client[]) {
      const response = await count(client, 'chat');
      expect([response.status, isEstimate(response)]).toEqual([200, true]);
    }
    expect(provider.received).toEqual([]);
  });

  it('is an estimate for a request that the model’s API can’t express', async () => {
    provider.answer();
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
    const response = await count('messages', 'converse', { tools });
    expect([response.status, isEstimate(response)]).toEqual([200, true]);
    expect(provider.received).toEqual([]);
  });

  it('fails in the words of the client’s API', async () => {
    provider.answer(whole({ message: 'The image is odd.' }, 400));
    const refused = await count('messages', 'converse');
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { type: 'error', error: { type: 'invalid_request_error', message: 'The image is odd.' } },
    ]);
    provider.answer(whole({ message: 'Of the account 123.' }, 403));
    const forbidden = await count('gemini', 'converse');
    expect([forbidden.status, await forbidden.json()]).toMatchObject([502, { error: { code: 502 } }]);
    provider.answer(whole({ tokens: 1 }));
    expect((await count('gemini', 'converse')).status).toBe(502);
  });
});

describe('a model whose provider can’t count its tokens', () => {
  it.each([
    ['messages', 'other', cannotCount],
    ['messages', 'invoked', cannotCount],
    ['messages', 'old-server', whole('<html>', 405)],
  ] as const)('for %s and %s is asked once, and is estimated then', async (client, model, refusal) => {
    provider.answer(refusal);
    const tenantId = newId();
    for (let call = 0; call < 3; call += 1) {
      const response = await count(client, model, {}, tenantId);
      expect([response.status, isEstimate(response)]).toEqual([200, true]);
      expect(response.headers.get('x-gateway-model')).toBe(model);
    }
    expect(provider.received).toHaveLength(1);
    // The request of another tenant may be one that it counts.
    provider.answer(whole(providers[model === 'old-server' ? 'responses' : 'converse'].answer));
    expect(isEstimate(await count(client, model))).toBe(false);
  });
});
