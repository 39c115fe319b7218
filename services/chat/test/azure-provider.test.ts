import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ChatHarness } from './chat-harness.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';
import { answers } from './translated-answers.ts';

/** Models at a resource of Azure OpenAI. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const azure = { kind: 'azure', base_url: provider.url, api_key_env: 'UNUSED', max_retries: 0 };
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { name: 'azure', ...azure },
        { name: 'older', ...azure, api_version: '2024-10-21' },
      ],
      models: [
        { id: 'gpt', provider: 'azure', upstream_model: 'my gpt' },
        { id: 'gpt-responses', provider: 'azure', api: 'responses', reasoning: false },
        { id: 'old', provider: 'older', upstream_model: 'my gpt' },
        { id: 'old-responses', provider: 'older', api: 'responses', reasoning: false },
      ],
      embeddings: undefined,
    },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const messages = [{ role: 'user', content: 'hi' }];
const vectors = { object: 'list', model: 'm', data: [{ object: 'embedding', index: 0, embedding: [1] }] };

describe('a model of Azure OpenAI', () => {
  it.each([
    ['gpt', '/v1/chat/completions', '/openai/v1/chat/completions'],
    ['gpt', '/v1/embeddings', '/openai/v1/embeddings'],
    ['gpt-responses', '/v1/responses', '/openai/v1/responses'],
    ['old', '/v1/chat/completions', '/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21'],
    ['old', '/v1/embeddings', '/openai/deployments/my%20gpt/embeddings?api-version=2024-10-21'],
    ['old-responses', '/v1/responses', '/openai/responses?api-version=2024-10-21'],
  ])('%s is asked for %s at %s, with its key', async (model, path, at) => {
    const answer = path.endsWith('embeddings')
      ? { ...vectors, usage: { prompt_tokens: 3, total_tokens: 3 } }
      : answers[path.endsWith('responses') ? 'gpt-responses' : 'gpt'];
    provider.answer(whole(answer));
    const dialect = path.endsWith('responses') ? 'responses' : 'chat';
    const body = { model, ...(path.endsWith('completions') ? { messages } : { input: 'hi' }) };
    const response = await harness.post(path, body, { headers: { 'x-gatehouse-dialect': dialect } });
    expect(response.status).toBe(200);
    const [request] = provider.received;
    expect(request?.path).toBe(at);
    expect(request?.headers).toMatchObject({ 'api-key': 'provider-key' });
    expect(request?.headers.authorization).toBeUndefined();
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({ status: 'ok' });
  });

  it('streams behind a first chunk without choices, in which Azure reports its filter', async () => {
    const chunk = (choices: object[]): string =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt', choices })}\n\n`;
    const frames = [
      'data: {"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[]}\n\n',
      chunk([{ index: 0, delta: { role: 'assistant', content: 'Hello.' }, finish_reason: null }]),
      chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
      'data: [DONE]\n\n',
    ];
    provider.answer(streamed(frames));
    const response = await harness.post('/v1/chat/completions', { model: 'gpt', messages, stream: true });
    expect(await response.text()).toBe(frames.join(''));
  });

  it('refuses content with an error that says so', async () => {
    const message = 'The response was filtered due to the prompt triggering content management policy.';
    const error = { message, type: null, param: 'prompt', code: 'content_filter', status: 400 };
    provider.answer(whole({ error }, 400));
    const response = await harness.post('/v1/chat/completions', { model: 'gpt', messages });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { message, code: 'content_filter', param: 'prompt' } },
    ]);
  });
});
