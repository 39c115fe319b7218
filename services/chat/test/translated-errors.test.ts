import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ChatHarness } from './chat-harness.ts';
import type { Fields } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';

/** Errors of providers, as clients of every API get them. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [
    { id: 'chat', provider: 'simulator' },
    { id: 'responses', provider: 'simulator', api: 'responses' },
    { id: 'messages', provider: 'quick', max_output_tokens: 9_000 },
    { id: 'gemini', provider: 'wrongkey' },
  ]);
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const asked: Readonly<Record<string, (model: string, stream: boolean) => [path: string, body: Fields]>> = {
  chat: (model, stream) => [
    '/v1/chat/completions',
    { model, stream, messages: [{ role: 'user', content: 'x' }] },
  ],
  responses: (model, stream) => ['/v1/responses', { model, stream, input: 'x' }],
  messages: (model, stream) => [
    '/v1/messages',
    { model, stream, max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
  ],
  gemini: (model, stream) => [
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
  ],
};
const names = Object.keys(asked);
const pairs = names.flatMap((client) => names.map((upstream) => [client, upstream] as const));

async function ask(client: string, model: string, stream = false): Promise<[status: number, text: string]> {
  const [path, body] = asked[client]?.(model, stream) ?? ['', {}];
  const response = await harness.post(path, body, { headers: { 'x-gatehouse-dialect': client } });
  return [response.status, await response.text()];
}

/** Errors as the providers of each API write them. */
const tooLong: Readonly<Record<string, Fields>> = {
  chat: {
    error: { message: "This model's maximum context length is 8 tokens.", type: 'invalid_request_error' },
  },
  responses: {
    error: {
      message: 'Your input exceeds the context window of this model.',
      code: 'context_length_exceeded',
    },
  },
  messages: {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' },
  },
  gemini: {
    error: {
      ...{ code: 400, status: 'INVALID_ARGUMENT' },
      message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).',
    },
  },
};
const readBy: Readonly<Record<string, RegExp>> = {
  chat: /"code":"context_length_exceeded"/,
  responses: /"code":"context_length_exceeded"/,
  messages: /"message":"prompt is too long/,
  gemini: /"message":"The input token count .*exceeds the maximum/,
};

describe.each(pairs.filter(([client, upstream]) => client !== upstream))('%s of %s', (client, upstream) => {
  it('gets a conversation that is too long in words by which its clients compact it', async () => {
    for (const stream of [false, true]) {
      provider.answer(whole(tooLong[upstream], 400));
      const [status, text] = await ask(client, upstream, stream);
      expect([status, text]).toEqual([400, expect.stringMatching(readBy[client] ?? /^$/)]);
    }
  });
});

describe.each(pairs)('%s of %s', (client, upstream) => {
  const words = 'Limit reached for acct-123';

  it.each([429, 529, 503, 401])("gets nothing of the platform's account with a %i", async (status) => {
    const body = { type: 'error', error: { message: words, type: 'some_error', code: 'acct-123' } };
    for (const stream of [false, true]) {
      provider.answer(whole(body, status));
      const [, text] = await ask(client, upstream, stream);
      expect(text).toContain('error');
      expect(text).not.toContain('acct-123');
    }
  });

  it('gets nothing of it with a 404 either, but for chat completions of their own API', async () => {
    provider.answer(whole({ error: { message: words } }, 404));
    const [status, text] = await ask(client, upstream);
    expect(status).toBe(404);
    expect(text.includes('acct-123')).toBe(client === 'chat' && upstream === 'chat');
  });

  it('gets nothing of it with an error in a 200, whole and streamed', async () => {
    const error = { message: words, type: 'rate_limit_error', code: 429, status: 'RESOURCE_EXHAUSTED' };
    provider.answer(whole({ type: 'error', error }));
    expect((await ask(client, upstream))[1]).not.toContain('acct-123');
    provider.answer(streamed([`event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`]));
    expect((await ask(client, upstream, true))[1]).not.toContain('acct-123');
  });
});
