import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import type { Principal } from '@gatehouse/identity/principal';
import { makePrincipal } from '@gatehouse/test/identity';
import OpenAI from 'openai';
import { ChatHarness, makeAgent } from './chat-harness.ts';
import { answerOf, messageItem } from './response-answers.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';

/** Counts of tokens for clients of OpenAI's responses and of Google's API. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { name: 'simulator', kind: 'openai', base_url: `${provider.url}/v1`, max_retries: 0 },
        { name: 'google', kind: 'google', base_url: provider.url, max_retries: 0 },
      ],
      models: [
        { id: 'gpt', provider: 'simulator', api: 'responses', upstream_model: 'gpt-up', reasoning: true },
        { id: 'gemini', provider: 'google', upstream_model: 'gemini-up' },
        { id: 'chat', provider: 'simulator' },
      ],
      embeddings: undefined,
    },
  );
  const agent = {
    systemPrompt: 'Be kind.',
    tools: { maxIterations: 4 },
    parametersJson: '{"max_tokens":50}',
  };
  for (const model of ['gpt', 'gemini'])
    harness.agents.set(`of-${model}`, makeAgent({ ...agent, key: `of-${model}`, model }));
  const tool = { name: 'lookup', description: 'Looks up.', schemaJson: '{"type":"object"}', tool: 'lookup' };
  harness.toolLists.tools = [
    { ...tool, serverId: 's', timeoutMs: 1_000, executor: 'agent', repeatable: true },
  ];
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

type As = Partial<Principal>;
const post = (dialect: string, path: string, body: unknown, principal: As = {}): Promise<Response> =>
  harness.post(path, body, { principal, headers: { 'x-gatehouse-dialect': dialect } });

/** Headers by which the edge names the dialect of a client, and its principal. */
const edgeHeaders = async (dialect: string): Promise<Record<string, string>> => ({
  'x-gatehouse-dialect': dialect,
  'x-gatehouse-assertion': await harness.identity.assertion(makePrincipal()),
});

const lastBody = (): unknown => JSON.parse(provider.received.at(-1)?.body.toString() ?? '');

describe('a count for a client of responses', () => {
  const answer = '{ "object":"response.input_tokens", "input_tokens" : 11 }';
  const count = (body: unknown, principal?: As): Promise<Response> =>
    post('responses', '/v1/responses/input_tokens', body, principal);

  it('goes out and comes back byte for byte but for the model', async () => {
    provider.answer(whole(answer));
    const body = '{ "model":"gpt",  "input":"Größe \\ud800?","newer":[1.0] }';
    const response = await count(body);
    expect([response.status, await response.text()]).toEqual([200, answer]);
    expect(provider.received[0]?.path).toBe('/v1/responses/input_tokens');
    expect(provider.received[0]?.body.toString()).toBe(body.replace('"gpt"', '"gpt-up"'));
    expect(response.headers.get('x-run-id')).toBeNull();
  });

  it('of an agent has its prompt and its tools, and not its parameters', async () => {
    provider.answer(whole(answer));
    expect((await count({ model: 'agent:of-gpt', input: 'hi', instructions: 'Be brief.' })).status).toBe(200);
    expect(lastBody()).toEqual({
      ...{ model: 'gpt-up', input: 'hi', instructions: 'Be kind.\n\nBe brief.' },
      tools: [
        {
          ...{ type: 'function', name: 'lookup', description: 'Looks up.', strict: false },
          parameters: { type: 'object' },
        },
      ],
    });
  });

  it('has the conversation that it goes on from, and none of another user', async () => {
    const ann = { tenantId: newId(), userId: 'ann' };
    provider.answer(whole(answerOf([messageItem('Hello.')])));
    const said = await post('responses', '/v1/responses', { model: 'gpt', input: 'hi' }, ann);
    const { id } = (await said.json()) as { id: string };
    const user = (content: string) => ({ type: 'message', role: 'user', content });
    provider.answer(whole(answer));
    const body = { model: 'gpt', input: 'and?', previous_response_id: id };
    const response = await count(body, ann);
    expect([response.status, await response.text()]).toEqual([200, answer]);
    expect(provider.received[0]?.path).toBe('/v1/responses/input_tokens');
    expect(lastBody()).toEqual({
      ...{ model: 'gpt-up', previous_response_id: null },
      input: [user('hi'), messageItem('Hello.'), user('and?')],
    });
    const estimated = async (asked: object): Promise<number> => {
      const answered = await count({ ...asked, model: 'chat' }, ann);
      return ((await answered.json()) as { input_tokens: number }).input_tokens;
    };
    expect(await estimated(body)).toBeGreaterThan(await estimated({ input: 'and?' }));

    provider.answer();
    const refused = await count(body, { ...ann, userId: 'bob' });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { code: 'previous_response_not_found', param: 'previous_response_id' } },
    ]);
    expect(provider.received).toEqual([]);
  });

  it('is what OpenAI’s SDK expects, from a provider and as an estimate', async () => {
    const defaultHeaders = await edgeHeaders('responses');
    const client = new OpenAI({ apiKey: 'k', baseURL: `${harness.url}/v1`, defaultHeaders, maxRetries: 0 });
    provider.answer(whole(answer));
    expect((await client.responses.inputTokens.count({ model: 'gpt', input: 'hi' })).input_tokens).toBe(11);
    const asked = { model: 'chat', input: 'one two three four five six seven' };
    const { data, response } = await client.responses.inputTokens.count(asked).withResponse();
    expect(data).toEqual({ object: 'response.input_tokens', input_tokens: 7 });
    expect(response.headers.get('x-gateway-estimated')).toBe('true');
  });

  it('fails in the shape of its API', async () => {
    const stored = await count({ model: 'gpt', input: 'hi', conversation: 'conv_1' });
    expect([stored.status, await stored.json()]).toMatchObject([
      400,
      { error: { code: 'unsupported_parameter', param: 'conversation' } },
    ]);
    expect(await (await count({ model: 'none', input: 'hi' })).json()).toMatchObject({
      error: { code: 'model_not_found' },
    });
    provider.answer(whole({ error: { message: 'odd', type: 'invalid_request_error' } }, 400));
    const response = await count({ model: 'gpt', input: 'hi' });
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: { message: 'odd', type: 'invalid_request_error' } },
    ]);
    provider.answer(whole({ input_tokens: 'many' }));
    expect((await count({ model: 'gpt', input: 'hi' })).status).toBe(502);
  });
});

describe('a count for a client of Google’s API', () => {
  const answer = '{ "totalTokens" : 7, "newer": 1.0 }';
  const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
  const count = (body: unknown, model = 'gemini'): Promise<Response> =>
    post('gemini', `/v1/models/${model}:countTokens`, body);

  it('of contents alone goes out and comes back byte for byte', async () => {
    provider.answer(whole(answer));
    const body = '{ "contents":[{"parts":[{"text":"Größe \\ud800?"}]}],  "newer":[1.0] }';
    const response = await count(body);
    expect([response.status, await response.text()]).toEqual([200, answer]);
    expect(provider.received[0]?.path).toBe('/v1beta/models/gemini-up:countTokens');
    expect(provider.received[0]?.body.toString()).toBe(body);
  });

  it.each(['generateContentRequest', 'generate_content_request'])(
    'of a whole request in %s has the provider’s name of the model',
    async (name) => {
      provider.answer(whole(answer));
      const inner = '{"model":"models/gemini", "contents":[{"parts":[{"text":"hi"}]}], "newer":[1.0]}';
      expect((await count(`{ "${name}": ${inner} }`)).status).toBe(200);
      expect(provider.received[0]?.body.toString()).toBe(
        `{ "${name}": ${inner.replace('models/gemini', 'models/gemini-up')} }`,
      );
    },
  );

  it('of an agent is one of a whole request with its prompt and its tools', async () => {
    const added = {
      systemInstruction: { parts: [{ text: 'Be kind.' }] },
      tools: [
        {
          functionDeclarations: [
            { name: 'lookup', description: 'Looks up.', parametersJsonSchema: { type: 'object' } },
          ],
        },
      ],
    };
    const wanted = { generateContentRequest: { model: 'models/gemini-up', contents, ...added } };
    for (const body of [
      { contents },
      { model: 'models/agent:of-gemini', contents },
      { generateContentRequest: { model: 'models/agent:of-gemini', contents } },
    ]) {
      provider.answer(whole(answer));
      expect((await count(body, 'agent:of-gemini')).status).toBe(200);
      expect(lastBody()).toEqual(wanted);
    }
  });

  it('is an estimate for a model of another API', async () => {
    const words = [{ parts: [{ text: 'one two three four five six seven' }] }];
    for (const body of [{ contents: words }, { generateContentRequest: { contents: words } }]) {
      const response = await count(body, 'chat');
      expect([response.headers.get('x-gateway-estimated'), await response.json()]).toEqual([
        'true',
        { totalTokens: 7 },
      ]);
    }
  });

  it.each([
    [{}, 'contents'],
    [{ generateContentRequest: {} }, 'contents'],
    [{ generateContentRequest: [] }, 'generateContentRequest'],
    [{ generateContentRequest: { contents: 'hi' } }, 'contents'],
  ])('without its contents is refused: %j', async (body, param) => {
    provider.answer();
    const response = await count(body);
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(param)]);
    expect(provider.received).toEqual([]);
  });
});
