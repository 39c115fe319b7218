import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import OpenAI from 'openai';
import { startProviderSimulator } from './simulator.ts';
import type { ProviderSimulator } from './simulator.ts';
import { at, call, chatBody, contentIn, eventsIn, read, streamBody } from './test-client.ts';

let simulator: ProviderSimulator;
let client: OpenAI;

beforeAll(async () => {
  simulator = await startProviderSimulator({ apiKey: 'sk-test' });
  client = new OpenAI({ apiKey: 'sk-test', baseURL: simulator.baseUrl, maxRetries: 0 });
});

afterAll(() => simulator.close());

const headers = { authorization: 'Bearer sk-test' };
const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        days: { type: 'integer', minimum: 3 },
        note: { type: 'string' },
      },
      required: ['city', 'days'],
    },
  },
};
const clock = { type: 'function' as const, function: { name: 'get_time' } };

function ask(content: string) {
  return { model: 'gpt-4o', messages: [{ role: 'user' as const, content }] };
}

describe('chat completions', () => {
  it('echo the last user message as any OpenAI client expects', async () => {
    const completion = await client.chat.completions.create(ask('hello there'));

    expect(completion.id).toMatch(/^chatcmpl-/);
    expect(completion.choices[0]).toEqual({
      index: 0,
      message: {
        role: 'assistant',
        content: 'This is the Gatehouse provider simulator. You said: hello there',
        refusal: null,
        annotations: [],
      },
      logprobs: null,
      finish_reason: 'stop',
    });
    expect(completion.usage).toMatchObject({ prompt_tokens: 9, completion_tokens: 10, total_tokens: 19 });
  });

  it('give the same text and usage streamed as in one piece', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (content) => {
        const unary = await call(simulator, chatBody(content), { headers });
        const stream = await call(simulator, streamBody({}, chatBody(content)), { headers });
        const expected = `This is the Gatehouse provider simulator. You said: ${content}`;
        expect(read(unary.text, 'choices', 0, 'message', 'content')).toBe(expected);
        expect(contentIn(stream.text)).toBe(expected);
        expect(read(eventsIn(stream.text).at(-2) ?? '', 'usage')).toEqual(read(unary.text, 'usage'));
      }),
      { numRuns: 50 },
    );
  });

  it('keep lone surrogates, NUL and U+2028 and echo at most 2,000 characters', async () => {
    const odd = '\ud800 \u0000 \u2028 😀';
    const seen = await call(simulator, chatBody(odd), { headers });
    expect(String(read(seen.text, 'choices', 0, 'message', 'content')).endsWith(odd)).toBe(true);

    const long = await call(simulator, chatBody(`${'x'.repeat(1999)}😀`), { headers });
    expect(String(read(long.text, 'choices', 0, 'message', 'content')).endsWith('x'.repeat(1999))).toBe(true);
  });

  it('stream role, words, finish reason, usage and [DONE] in that order', async () => {
    const { text, headers: seenHeaders } = await call(simulator, streamBody({ content: 'a b' }), { headers });
    const events = eventsIn(text);
    const chunks = events.slice(0, -1).map((data): unknown => JSON.parse(data));

    expect(seenHeaders['content-type']).toMatch(/^text\/event-stream/);
    expect(chunks.map((chunk) => at(chunk, 'choices', 0, 'delta'))).toEqual([
      { role: 'assistant', content: '', refusal: null },
      { content: 'a ' },
      { content: 'b' },
      {},
      undefined,
    ]);
    expect(chunks.map((chunk) => at(chunk, 'choices', 0, 'finish_reason') ?? null)).toEqual([
      ...[null, null, null],
      'stop',
      null,
    ]);
    expect(chunks.slice(0, -1).every((chunk) => at(chunk, 'usage') === null)).toBe(true);
    expect(at(chunks.at(-1), 'choices')).toEqual([]);
    expect(at(chunks.at(-1), 'usage', 'completion_tokens')).toBe(2);
    expect(new Set(chunks.map((chunk) => at(chunk, 'id'))).size).toBe(1);
    expect(events.at(-1)).toBe('[DONE]');
  });

  it('leave usage out of a stream that did not ask for it', async () => {
    const { text } = await call(simulator, chatBody('hi', { stream: true }), { headers });
    expect(text).not.toContain('usage');
  });

  it('call up to two tools with arguments that fit their schemas', async () => {
    const completion = await client.chat.completions.create({
      ...ask('use a tool'),
      tools: [weather, clock, weather],
    });
    const calls = completion.choices[0]?.message.tool_calls ?? [];
    expect(completion.choices[0]?.finish_reason).toBe('tool_calls');
    expect(calls.map((entry) => entry.type === 'function' && entry.function)).toEqual([
      { name: 'get_weather', arguments: '{"city":"example","days":3}' },
      { name: 'get_time', arguments: '{}' },
    ]);
  });

  it('interleave the pieces of parallel tool calls, which the SDK puts together again', async () => {
    const stream = client.chat.completions.stream({ ...ask('use a tool'), tools: [weather, clock] });
    const order: number[] = [];
    stream.on('chunk', (chunk) => {
      for (const part of chunk.choices[0]?.delta.tool_calls ?? []) order.push(part.index);
    });
    const completion = await stream.finalChatCompletion();
    const calls = completion.choices[0]?.message.tool_calls ?? [];
    expect(order.slice(0, 4)).toEqual([0, 1, 0, 1]);
    expect(new Set(calls.map((entry) => entry.id)).size).toBe(2);
    expect(calls[0]).toMatchObject({
      function: { name: 'get_weather', arguments: '{"city":"example","days":3}' },
    });
  });

  it.each([
    ['none', 'use a tool', []],
    ['auto', 'just talk', []],
    ['required', 'just talk', ['get_weather', 'get_time']],
    [{ type: 'function' as const, function: { name: 'get_time' } }, 'just talk', ['get_time']],
  ] as const)('follow tool_choice %j', async (toolChoice, content, names) => {
    const body = chatBody(content, { tools: [weather, clock], tool_choice: toolChoice });
    const { text } = await call(simulator, body, { headers });
    const calls = read(text, 'choices', 0, 'message', 'tool_calls') ?? [];
    expect((calls as unknown[]).map((entry) => at(entry, 'function', 'name'))).toEqual(names);
  });

  it('answer in words once the tools have spoken', async () => {
    const messages = [
      { role: 'user', content: 'use a tool' },
      { role: 'assistant', tool_calls: [] },
      { role: 'tool', tool_call_id: 'call_1', content: '21 degrees' },
    ];
    const { text } = await call(simulator, chatBody('', { messages, tools: [clock] }), { headers });
    expect(read(text, 'choices', 0, 'message', 'content')).toMatch(/The tools said: 21 degrees$/);
  });

  it('honour the old functions', async () => {
    const body = chatBody('hi', { functions: [weather.function], function_call: { name: 'get_weather' } });
    const unary = await call(simulator, body, { headers });
    expect(read(unary.text, 'choices', 0, 'finish_reason')).toBe('function_call');
    expect(read(unary.text, 'choices', 0, 'message', 'function_call', 'name')).toBe('get_weather');

    const stream = await call(simulator, { ...body, stream: true }, { headers });
    const pieces = eventsIn(stream.text).slice(1, -2);
    expect(
      pieces.map((data) => read(data, 'choices', 0, 'delta', 'function_call', 'arguments')).join(''),
    ).toBe('{"city":"example","days":3}');
  });

  it('make a JSON document of the schema', async () => {
    const schema = {
      type: 'object',
      properties: {
        kind: { enum: ['b', 'a'] },
        at: { type: 'string', format: 'date-time' },
        next: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
        tags: { type: 'array', items: { type: ['null', 'boolean'] } },
        unused: { type: 'number' },
      },
      required: ['kind', 'at', 'next', 'tags'],
    };
    const format = { type: 'json_schema', json_schema: { name: 'thing', schema } };
    const { text } = await call(simulator, chatBody('hi', { response_format: format }), { headers });
    const document: unknown = JSON.parse(String(read(text, 'choices', 0, 'message', 'content')));
    expect(document).toMatchObject({ kind: 'b', at: '2025-01-01T00:00:00Z', tags: [true] });
    expect(document).not.toHaveProperty('unused');
    expect(at(document, 'next', 'kind')).toBe('b');
  });

  it.each([
    [0, '', 'length'],
    [2, 'This is ', 'length'],
    [1000, expect.stringContaining('You said: hi'), 'stop'],
  ])('cut the text at max_tokens %d', async (limit, content, reason) => {
    const { text } = await call(simulator, chatBody('hi', { max_tokens: limit }), { headers });
    expect(read(text, 'choices', 0, 'message', 'content')).toEqual(content);
    expect(read(text, 'choices', 0, 'finish_reason')).toBe(reason);
  });

  it('give n choices and log probabilities', async () => {
    const fields = { n: 2, logprobs: true, top_logprobs: 2, max_tokens: 3 };
    const unary = await call(simulator, chatBody('hi', fields), { headers });
    expect(read(unary.text, 'choices', 1, 'index')).toBe(1);
    expect(read(unary.text, 'choices', 1, 'logprobs', 'content', 2)).toMatchObject({
      token: 'the ',
      bytes: [116, 104, 101, 32],
    });
    expect(read(unary.text, 'choices', 1, 'logprobs', 'content', 2, 'top_logprobs')).toHaveLength(2);
    expect(read(unary.text, 'usage', 'completion_tokens')).toBe(6);

    const stream = await call(simulator, chatBody('hi', { ...fields, stream: true }), { headers });
    const indexes = eventsIn(stream.text).slice(0, -1);
    expect(indexes.map((data) => read(data, 'choices', 0, 'index'))).toEqual([0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
  });
});

describe('what is refused', () => {
  it.each([
    ['not json', 400],
    [{ messages: [] }, 400],
    [{ model: 'm', messages: [] }, 400],
    [{ model: 'm', messages: [null] }, 400],
    [chatBody('hi', { n: 0 }), 400],
    [chatBody('hi', { x_simulator: { dealy_ms: 1 } }), 400],
    [chatBody('hi', { x_simulator: { cut: 'sometimes' } }), 400],
    [chatBody('hi', { x_simulator: { attempts: [{}] } }), 400],
    [chatBody('hi', { x_simulator: { models: { m: { id: 'x' } } } }), 400],
    [chatBody('hi', { x_simulator: { headers: { 'x-a': 'a\r\nb' } } }), 400],
  ])('%j is answered in the shape of OpenAI errors', async (body, status) => {
    const seen = await call(simulator, body, { headers });
    expect(seen.status).toBe(status);
    expect(Object.keys(read(seen.text, 'error') as object)).toEqual(['message', 'type', 'param', 'code']);
  });

  it('a wrong key is 401, an unknown path 404', async () => {
    const wrong = await call(simulator, chatBody('hi'), { headers: { authorization: 'Bearer nope' } });
    expect([wrong.status, read(wrong.text, 'error', 'code')]).toEqual([401, 'invalid_api_key']);
    expect((await call(simulator, {}, { headers, path: '/v1/nothing' })).status).toBe(404);
  });
});
