import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import OpenAI from 'openai';
import { ChatHarness } from './chat-harness.ts';
import { CompletionServer } from './completion-server.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';

/** OpenAI's embeddings with models of Google's API. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const google = { kind: 'google', base_url: provider.url, api_key_env: 'UNUSED', max_retries: 0 };
  const openai = { kind: 'openai', base_url: `${provider.url}/v1`, max_retries: 0 };
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { name: 'simulator', ...google },
        { name: 'other', ...openai },
      ],
      models: [
        { id: 'embedder', provider: 'simulator', upstream_model: 'gemini-embedding' },
        { id: 'first-elsewhere', provider: 'other', fallbacks: ['embedder'] },
        { id: 'first-google', provider: 'simulator', fallbacks: ['plain'] },
        { id: 'plain', provider: 'other' },
      ],
      embeddings: { model: 'embedder' },
    },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const ask = (fields: object): Promise<Response> =>
  harness.post('/v1/embeddings', { model: 'embedder', input: ['one', 'two'], ...fields });
const vectors = { embeddings: [{ values: [0.5, 1] }, { values: [2, 3] }] };
const batch = (...texts: string[]): object => ({
  requests: texts.map((text) => ({
    model: 'models/gemini-embedding',
    content: { parts: [{ text }] },
  })),
});
const sent = (): unknown[] => provider.received.map(({ body }) => JSON.parse(body.toString()) as unknown);

describe('embeddings of a model of Google’s API', () => {
  it('are asked for as one batch, shown as OpenAI’s, and metered', async () => {
    provider.answer(whole({ ...vectors, usageMetadata: { promptTokenCount: 5 } }));
    const response = await ask({});
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        object: 'list',
        data: [
          { object: 'embedding', index: 0, embedding: [0.5, 1] },
          { object: 'embedding', index: 1, embedding: [2, 3] },
        ],
        model: 'gemini-embedding',
        usage: { prompt_tokens: 5, total_tokens: 5 },
      },
    ]);
    expect(provider.received[0]?.path).toBe('/v1beta/models/gemini-embedding:batchEmbedContents');
    expect(provider.received[0]?.headers).toMatchObject({ 'x-goog-api-key': 'provider-key' });
    expect(sent()).toEqual([batch('one', 'two')]);
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ operation: 'embeddings', status: 'ok', dialect: 'chat', provider: 'simulator' },
      ...{ input_tokens: 5, output_tokens: 0, usage_estimated: false },
    });
  });

  it('take over from a model of OpenAI’s API, and are passed over for tokens', async () => {
    provider.answer(whole({}, 500), whole(vectors));
    const fallen = await ask({ model: 'first-elsewhere' });
    expect([fallen.status, fallen.headers.get('x-gateway-model')]).toEqual([200, 'embedder']);
    expect(sent().at(-1)).toEqual(batch('one', 'two'));
    provider.answer(whole({ object: 'list', data: [{ index: 0, embedding: [1] }] }));
    const tokens = await ask({ model: 'first-google', input: [1, 2] });
    expect([tokens.status, tokens.headers.get('x-gateway-model')]).toEqual([200, 'plain']);
    expect(sent()).toEqual([{ model: 'plain', input: [1, 2] }]);
  });

  it('leave out hints, which models of OpenAI’s API get', async () => {
    provider.answer(whole(vectors), whole({ object: 'list', data: [{ index: 0, embedding: [1] }] }));
    expect((await ask({ user: 'u' })).headers.get('x-gateway-ignored')).toBe('user');
    const passed = await ask({ model: 'plain', user: 'u' });
    expect([passed.status, passed.headers.get('x-gateway-ignored')]).toEqual([200, null]);
    expect(sent().at(-1)).toMatchObject({ user: 'u' });
  });

  it('are refused for tokens before any call, and have OpenAI’s errors', async () => {
    provider.answer();
    const refused = await ask({ input: [1, 2] });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { code: 'unsupported_parameter', param: 'input', type: 'invalid_request_error' } },
    ]);
    expect(provider.received).toEqual([]);
    provider.answer(whole({ error: { code: 400, message: 'Too long.', status: 'INVALID_ARGUMENT' } }, 400));
    const failed = await ask({});
    expect([failed.status, await failed.json()]).toMatchObject([
      400,
      { error: { message: 'Too long.', type: 'invalid_request_error', request_id: expect.any(String) } },
    ]);
    provider.answer(whole({ usageMetadata: { promptTokenCount: 1 } }));
    expect((await ask({})).status).toBe(502);
  });

  it('are those of memory', async () => {
    provider.answer(whole(vectors));
    const memory = await harness.peer('memory');
    const assertion = await harness.identity.assertion({
      tenantId: newId(),
      tenantSlug: 'acme',
      userId: 'a',
    });
    const texts = { texts: ['one', 'two'], agentId: newId() };
    expect(await memory.call('embed', texts, { deadlineMs: 5_000, assertion })).toEqual({
      model: 'embedder',
      embeddings: vectors.embeddings,
    });
  });

  it('are what OpenAI’s SDK reads, which asks for Base64', async () => {
    const google = { name: 'google', kind: 'google', base_url: provider.url, max_retries: 0 };
    const server = await CompletionServer.start(
      { providers: [google], models: [{ id: 'embedder', provider: 'google' }] },
      'chat',
    );
    provider.answer(whole(vectors));
    const client = new OpenAI({ apiKey: 'key', baseURL: `${server.url}/v1`, maxRetries: 0 });
    const { data, usage } = await client.embeddings.create({
      ...{ model: 'embedder', input: ['one', 'two'], dimensions: 2 },
    });
    expect(data.map(({ embedding }) => embedding)).toEqual([
      [0.5, 1],
      [2, 3],
    ]);
    expect(usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
    expect(sent()).toMatchObject([{ requests: [{ outputDimensionality: 2 }, { outputDimensionality: 2 }] }]);
    await server.stop();
  });
});
