import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AzureOpenAI } from 'openai';
import { ChatHarness, makeAgent } from './chat-harness.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';
import { answers } from './translated-answers.ts';

/** Clients of Azure OpenAI, which have a deployment in the path of their requests. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const common = { base_url: provider.url, max_retries: 0, api_key_env: 'UNUSED' };
  harness = await ChatHarness.start(
    {},
    {
      providers: [{ ...common, name: 'simulator', kind: 'openai' }],
      models: [
        { id: 'gpt', provider: 'simulator', upstream_model: 'gpt-upstream' },
        { id: 'gpt-responses', provider: 'simulator', api: 'responses', reasoning: false },
      ],
      embeddings: undefined,
    },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const client = new AzureOpenAI({
  ...{ apiKey: 'unused', apiVersion: '2026-01-01', endpoint: 'http://azure.test', maxRetries: 0 },
  fetch: (url, init) => {
    if (typeof init?.body !== 'string' || typeof url !== 'string') throw new Error('the SDK sends a text');
    const { pathname, search } = new URL(url);
    const dialect = pathname.endsWith('/responses') ? 'responses' : 'chat';
    return harness.post(`${pathname}${search}`, init.body, { headers: { 'x-gatehouse-dialect': dialect } });
  },
});
const sent = (): unknown => JSON.parse(String(provider.received[0]?.body));
const messages = [{ role: 'user' as const, content: 'x' }];

describe("Azure's SDK", () => {
  it('gets chat completions of a model and of an agent', async () => {
    provider.answer(whole(answers['gpt']));
    const answer = await client.chat.completions.create({ model: 'gpt', messages });
    expect(answer.choices[0]?.message.content).toBe('Four.');
    expect(sent()).toMatchObject({ model: 'gpt-upstream', messages });
    harness.agents.set('helper', makeAgent({ key: 'helper', model: 'gpt', systemPrompt: 'Help.' }));
    provider.answer(whole(answers['gpt']));
    await client.chat.completions.create({ model: 'agent:helper', messages });
    expect(sent()).toMatchObject({ messages: [{ role: 'system', content: 'Help.' }, ...messages] });
  });

  it('gets responses, and embeddings of its deployment', async () => {
    provider.answer(whole(answers['gpt-responses']));
    expect((await client.responses.create({ model: 'gpt-responses', input: 'x' })).output_text).toBe('Four.');
    const vectors = { object: 'list', model: 'm', data: [{ object: 'embedding', index: 0, embedding: [1] }] };
    provider.answer(whole({ ...vectors, usage: { prompt_tokens: 1, total_tokens: 1 } }));
    const answer = await client.embeddings.create({ model: 'gpt', input: 'x', encoding_format: 'float' });
    expect(answer.data[0]?.embedding).toEqual([1]);
  });
});

it('a deployment is the model, also without one in the body, or with another', async () => {
  for (const body of [{ messages }, { messages, model: 'another' }]) {
    provider.answer(whole(answers['gpt']));
    const response = await harness.post('/openai/deployments/gpt/chat/completions?api-version=x', body);
    expect(response.status).toBe(200);
    expect(sent()).toEqual({ messages, model: 'gpt-upstream' });
  }
  const missing = await harness.post('/openai/deployments/none/chat/completions', { messages });
  expect([missing.status, await missing.json()]).toMatchObject([404, { error: { code: 'model_not_found' } }]);
});

it.each(['chat/completions', 'responses', 'embeddings'])('the newer paths serve %s, too', async (path) => {
  const body = { 'chat/completions': { messages }, responses: { input: 'x' }, embeddings: { input: 'x' } }[
    path
  ];
  const response = await harness.post(`/openai/v1/${path}`, { model: 'none', ...body });
  expect([response.status, await response.json()]).toMatchObject([
    404,
    { error: { code: 'model_not_found' } },
  ]);
});
