import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ChatHarness } from './chat-harness.ts';
import { eventsOf, framesOf, messageItem } from './response-answers.ts';
import { chunks, messageEvents, type Fields } from './translated-answers.ts';
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

/** The beginning of a stream of each API. */
const begun: Readonly<Record<string, readonly string[]>> = {
  chat: chunks([{ role: 'assistant', content: 'Fine' }]).slice(0, 1),
  responses: framesOf(eventsOf([messageItem('Fine')])).slice(0, 5),
  messages: messageEvents([{ type: 'text', text: 'Fine' }]).slice(0, 3),
  gemini: [
    `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [{ text: 'Fine' }] }, index: 0 }] })}\n\n`,
  ],
};

interface StreamedError {
  event?: string;
  data: Fields;
}
const failedResponse = (code: string): StreamedError => ({
  event: 'response.failed',
  data: {
    ...{ type: 'response.failed', sequence_number: 5 },
    response: { id: 'resp_1', status: 'failed', error: { code, message: 'acct-123' }, output: [] },
  },
});
/** Errors inside a stream by which clients wait. */
const overloads: Readonly<Record<string, StreamedError>> = {
  chat: { data: { error: { message: 'acct-123', type: 'overloaded_error', code: 529 } } },
  responses: failedResponse('server_is_overloaded'),
  messages: {
    event: 'error',
    data: { type: 'error', error: { type: 'overloaded_error', message: 'acct-123' } },
  },
  gemini: { data: { error: { code: 503, message: 'acct-123', status: 'UNAVAILABLE' } } },
};
const limits: Readonly<Record<string, StreamedError>> = {
  chat: { data: { error: { message: 'acct-123', type: 'rate_limit_error', code: 429 } } },
  responses: failedResponse('rate_limit_exceeded'),
  messages: {
    event: 'error',
    data: { type: 'error', error: { type: 'rate_limit_error', message: 'acct-123' } },
  },
  gemini: { data: { error: { code: 429, message: 'acct-123', status: 'RESOURCE_EXHAUSTED' } } },
};

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

  it('gets nothing of it with a 404 either', async () => {
    provider.answer(whole({ error: { message: words } }, 404));
    const [status, text] = await ask(client, upstream);
    expect(status).toBe(404);
    expect(text).not.toContain('acct-123');
  });

  it.each([
    ['an overload', 'server_is_overloaded', overloads, /"overloaded_error"|"code":503|provider_overloaded/],
    ['a limit', 'rate_limit_exceeded', limits, /"rate_limit_error"|"code":429|provider_rate_limited/],
  ] as const)(
    'ends a stream with %s by an event that says so, without the words',
    async (_text, code, errors, read) => {
      const { event, data } = errors[upstream] ?? {};
      const error = `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
      provider.answer(streamed([...(begun[upstream] ?? []), error]));
      const [status, text] = await ask(client, upstream, true);
      expect(status).toBe(200);
      expect(text).toContain('Fine');
      expect(text.split(/\n\n(?=.)/).at(-1)).toMatch(read);
      expect(text).not.toMatch(/acct-123|\[DONE\]/);
      expect(text).not.toContain(code);
    },
  );

  it('gets nothing of it with an error in a 200, whole and streamed', async () => {
    const error = { message: words, type: 'rate_limit_error', code: 429, status: 'RESOURCE_EXHAUSTED' };
    provider.answer(whole({ type: 'error', error }));
    expect((await ask(client, upstream))[1]).not.toContain('acct-123');
    provider.answer(streamed([`event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`]));
    expect((await ask(client, upstream, true))[1]).not.toContain('acct-123');
  });
});

describe('chat completions of their own API', () => {
  it.each([400, 413, 422])('get the body of a %i as the provider wrote it', async (status) => {
    const bodies = [
      '{"error":{"message":"Provider returned error","code":400, "metadata":{"raw":"{\\"x\\":1}"}}}',
      '{"detail": [{"loc":["body","n"],"msg":"too large","type":"value_error"}]}',
      '{"object":"error", "message":"odd"}',
    ];
    for (const body of bodies)
      for (const stream of [false, true]) {
        provider.answer(whole(body, status));
        expect(await ask('chat', 'chat', stream)).toEqual([status, body]);
      }
    provider.answer(whole('<html>Too large</html>', status));
    expect((await ask('chat', 'chat'))[1]).toMatch(/^\{"error":\{"message":"The provider/);
  });

  it('pass the header openai-beta on', async () => {
    provider.answer(whole({}, 400));
    const [path, body] = asked['chat']?.('chat', false) ?? ['', {}];
    await harness.post(path, body, { headers: { 'openai-beta': 'x=1', 'x-other': 'x' } });
    expect(provider.received[0]?.headers).toMatchObject({ 'openai-beta': 'x=1' });
    expect(provider.received[0]?.headers['x-other']).toBeUndefined();
  });
});

describe('messages of chat completions', () => {
  it.each([
    [{ error: { message: 'Provider returned error', metadata: { raw: 'no tools here' } } }, 'no tools here'],
    [
      {
        error: { message: 'Provider returned error', metadata: { raw: '{"error":{"message":"no tools"}}' } },
      },
      'no tools',
    ],
    [{ error: { message: 'odd', metadata: { raw: '{"error":{}}' } } }, 'odd'],
    [{ detail: [{ loc: ['body', 'n'], msg: 'too large' }] }, 'too large'],
  ])('get the reason in %j', async (body, reason) => {
    provider.answer(whole(body, 400));
    const [status, text] = await ask('messages', 'chat');
    expect([status, text]).toEqual([400, expect.stringContaining(`"message":"${reason}`)]);
  });
});
