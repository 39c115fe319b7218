import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { ChatHarness } from './chat-harness.ts';
import { ScriptedProvider, streamed, whole, type Script } from './scripted-provider.ts';

/** Providers that hold their headers back for longer than load balancers and clients wait. */

const silenceMs = 300;

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const at = { api_key_env: 'UNUSED', max_retries: 0 };
  harness = await ChatHarness.start(
    { silenceMs },
    {
      providers: [
        { name: 'chat', kind: 'openai', base_url: `${provider.url}/v1`, ...at },
        { name: 'claude', kind: 'anthropic', base_url: provider.url, ...at },
      ],
      models: [
        { id: 'slow', provider: 'chat' },
        { id: 'other', provider: 'claude', fallbacks: ['slow'] },
      ],
      embeddings: undefined,
    },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

/** The script after so long without a byte. */
const after =
  (ms: number, script: Script): Script =>
  (request) =>
    void setTimeout(() => script(request), ms);

const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'slow' };
const chunk = (delta: object, finish_reason: string | null): string =>
  `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const answer = streamed([
  chunk({ role: 'assistant', content: 'Fine.' }, null),
  chunk({}, 'stop'),
  'data: [DONE]\n\n',
]);

const user = { role: 'user', content: 'hi' };
const gemini = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };

interface Client {
  name: string;
  dialect: string;
  path: (model: string) => string;
  body: (model: string) => object;
  keepAlive: RegExp;
  /** An answer as its client reads it. */
  whole: RegExp;
  /** The last event of a stream that failed, with the type or status for a limit of the provider. */
  failed: RegExp;
}

const clients: Client[] = [
  {
    ...{ name: 'chat', dialect: 'chat', path: () => '/v1/chat/completions' },
    body: (model) => ({ model, stream: true, messages: [user] }),
    keepAlive: /^(?:: keep-alive\n\n)+/,
    whole: /"content":"Fine\."[^]*data: \[DONE\]\n\n$/,
    failed: /\n\ndata: \{"error":\{[^\n]*"code":"provider_rate_limited"[^\n]*\n\n$/,
  },
  {
    ...{ name: 'responses', dialect: 'responses', path: () => '/v1/responses' },
    body: (model) => ({ model, stream: true, input: 'hi' }),
    keepAlive: /^(?:: keep-alive\n\n)+/,
    whole: /"sequence_number":0[^]*"text":"Fine\."[^]*event: response\.completed\n[^\n]*\n\n$/,
    failed:
      /event: error\ndata: \{[^\n]*"sequence_number":0\}\n\nevent: response\.failed\ndata: \{[^\n]*"code":"provider_rate_limited"[^\n]*"sequence_number":1\}\n\n$/,
  },
  {
    ...{ name: 'messages', dialect: 'messages', path: () => '/v1/messages' },
    body: (model) => ({ model, max_tokens: 100, stream: true, messages: [user] }),
    keepAlive: /^(?:event: ping\ndata: [^\n]*\n\n)+/,
    whole: /event: message_start\n[^]*"text":"Fine\."[^]*event: message_stop\n[^\n]*\n\n$/,
    failed: /\n\nevent: error\ndata: \{[^\n]*"rate_limit_error"[^\n]*\n\n$/,
  },
  {
    ...{ name: 'gemini', dialect: 'gemini' },
    path: (model) => `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    body: () => gemini,
    keepAlive: /^(?:data: [^\n]*\n\n)+?(?=data)/,
    whole: /"text":"Fine\."[^]*"finishReason":"STOP"[^\n]*\n\n$/,
    failed: /\n\ndata: \{"error":\{"code":429,"message":"[^"]*","status":"RESOURCE_EXHAUSTED"\}\}\n\n$/,
  },
  {
    ...{ name: 'gemini in an array', dialect: 'gemini' },
    path: (model) => `/v1beta/models/${model}:streamGenerateContent`,
    body: () => gemini,
    keepAlive: /^\n+\[/,
    whole: /"text":"Fine\."[^]*"finishReason":"STOP"[^]*\]\n$/,
    failed: /^\n+\[\{"error":\{"code":429,"message":"[^"]*","status":"RESOURCE_EXHAUSTED"\}\}\]\n$/,
  },
];

const ask = (
  { dialect, path, body }: Client,
  model: string,
  signal?: AbortSignal,
): Promise<globalThis.Response> =>
  harness.post(path(model), body(model), {
    headers: { 'x-gatehouse-dialect': dialect },
    ...(signal !== undefined && { signal }),
  });

describe.each(clients)('a stream of $name', (client) => {
  it('shows signs of life before the headers of its provider', async () => {
    provider.answer(after(4 * silenceMs, answer));
    const response = await ask(client, 'slow');
    expect(response.status).toBe(200);
    const runId = response.headers.get('x-run-id');
    expect([typeof runId, response.headers.get('x-gateway-provider')]).toEqual(['string', null]);
    const text = await response.text();
    expect(text).toMatch(client.keepAlive);
    expect(text).toMatch(client.whole);
    expect(await harness.endedRun(runId)).toMatchObject({ status: 'ok', provider: 'chat' });
  });

  it('ends with an error of its API where the provider fails after them', async () => {
    provider.answer(after(3 * silenceMs, whole({ error: { message: 'slow down' } }, 429)));
    const response = await ask(client, 'slow');
    const text = await response.text();
    expect([response.status, text]).toEqual([200, expect.stringMatching(client.failed)]);
    expect(text).toMatch(client.keepAlive);
    expect(text).not.toContain('[DONE]');
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'error', error_type: 'provider_rate_limited' },
    });
  });

  it('goes on with a fallback of another API after them', async () => {
    provider.answer(after(3 * silenceMs, whole({}, 500)), after(2 * silenceMs, answer));
    const response = await ask(client, 'other');
    const text = await response.text();
    expect(text).toMatch(client.keepAlive);
    expect([response.status, text]).toEqual([200, expect.stringMatching(client.whole)]);
    const { spans } = await harness.endedRun(response.headers.get('x-run-id'));
    expect(spans.map(({ status, provider: name }) => [status, name])).toEqual([
      ['error', 'claude'],
      ['ok', 'chat'],
    ]);
  });
});

const [chatClient] = clients as [Client];

describe('a silent provider', () => {
  it('loses its connection when the client leaves, and the run is cancelled', async () => {
    let closedAt = 0;
    provider.answer(({ response }) => void response.on('close', () => (closedAt = Date.now())));
    const leave = new AbortController();
    const response = await ask(chatClient, 'slow', leave.signal);
    const leftAt = Date.now();
    leave.abort();
    await eventually(() => expect(closedAt).toBeGreaterThan(0));
    expect(closedAt - leftAt).toBeLessThan(1_000);
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({ status: 'cancelled' });
  });

  it('does not change a response in one piece, nor the status of a failure before the first sign of life', async () => {
    provider.answer(after(3 * silenceMs, whole({ error: { message: 'slow down' } }, 429)));
    const unary = await harness.post('/v1/chat/completions', { model: 'slow', messages: [user] });
    expect([unary.status, unary.headers.get('content-type')]).toEqual([429, 'application/json']);
    provider.answer(whole({ error: { message: 'slow down' } }, 429, { 'retry-after': '7' }));
    const stream = await ask(chatClient, 'slow');
    expect([stream.status, stream.headers.get('retry-after')]).toEqual([429, '7']);
  });
});
