import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { startProviderSimulator } from '../simulator.ts';
import type { ProviderSimulator } from '../simulator.ts';
import { at, call, chatBody, read } from '../test-client.ts';
import { callMessages, deltasIn, messagesBody, namedEventsIn } from './messages-test-client.ts';

let simulator: ProviderSimulator;

beforeAll(async () => {
  simulator = await startProviderSimulator();
});

afterAll(() => simulator.close());
beforeEach(() => simulator.reset());

const weather = {
  name: 'get_weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

describe('messages', () => {
  it('are whole answers in the shape of Anthropic', async () => {
    const seen = await callMessages(simulator, messagesBody('hello there'));
    expect(seen.status).toBe(200);
    expect(seen.headers['request-id']).toMatch(/^req_/);
    expect(JSON.parse(seen.text)).toEqual({
      id: expect.stringMatching(/^msg_/),
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-5-5',
      content: [
        {
          type: 'text',
          text: 'This is the Gatehouse provider simulator. You said: hello there',
          citations: null,
        },
      ],
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: expect.objectContaining({
        input_tokens: 9,
        output_tokens: 10,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
      }),
    });
  });

  it('are streams of named events in the order of Anthropic', async () => {
    const body = messagesBody('hi', {
      stream: true,
      thinking: { type: 'enabled', budget_tokens: 1024 },
      x_simulator: { content: 'a b', thinking: 2, tool_calls: [{ name: 'go', arguments: { on: 1 } }] },
    });
    const seen = await callMessages(simulator, body);
    const events = namedEventsIn(seen.text);
    expect(seen.headers['content-type']).toMatch(/^text\/event-stream/);
    expect(events.every(({ event, data }) => read(data, 'type') === event)).toBe(true);
    expect(events.map(({ event, data }) => read(data, 'delta', 'type') ?? event)).toEqual([
      'message_start',
      ...['content_block_start', 'ping', 'thinking_delta', 'thinking_delta', 'signature_delta'],
      'content_block_stop',
      ...['content_block_start', 'text_delta', 'text_delta', 'content_block_stop'],
      ...['content_block_start', ...Array<string>(5).fill('input_json_delta'), 'content_block_stop'],
      ...['message_delta', 'message_stop'],
    ]);
    const starts = events.filter(({ event }) => event === 'content_block_start');
    expect(starts.map(({ data }) => read(data, 'index'))).toEqual([0, 1, 2]);
    expect(read(starts[2]?.data ?? '', 'content_block')).toEqual({
      type: 'tool_use',
      id: expect.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/),
      name: 'go',
      caller: { type: 'direct' },
      input: {},
    });
    expect(deltasIn(seen.text, 'input_json_delta', 'partial_json')).toBe('{"on":1}');
    expect(read(events.at(-2)?.data ?? '', 'delta', 'stop_reason')).toBe('tool_use');
  });

  it('have the same content and usage streamed as in one piece', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (content) => {
        const body = messagesBody(`${content}!`);
        const unary = await callMessages(simulator, body);
        const stream = await callMessages(simulator, { ...body, stream: true });
        expect(deltasIn(stream.text)).toBe(read(unary.text, 'content', 0, 'text'));
        const last = namedEventsIn(stream.text).at(-2)?.data ?? '';
        expect(read(unary.text, 'usage')).toMatchObject(read(last, 'usage') as object);
      }),
      { numRuns: 50 },
    );
  });

  it('give the input in the first event, and all usage in the last one', async () => {
    const seen = await callMessages(simulator, messagesBody('hi', { stream: true }));
    const events = namedEventsIn(seen.text);
    expect(read(events[0]?.data ?? '', 'message')).toMatchObject({
      content: [],
      stop_reason: null,
      usage: { input_tokens: 7, output_tokens: 1 },
    });
    expect(read(events.at(-2)?.data ?? '', 'usage')).toMatchObject({ input_tokens: 7, output_tokens: 9 });
  });

  it.each([
    [{ type: 'auto' }, 'use a tool', ['get_weather', 'get_time']],
    [{ type: 'auto', disable_parallel_tool_use: true }, 'use a tool', ['get_weather']],
    [{ type: 'auto' }, 'just talk', []],
    [{ type: 'none' }, 'use a tool', []],
    [{ type: 'any' }, 'just talk', ['get_weather', 'get_time']],
    [{ type: 'tool', name: 'get_time' }, 'just talk', ['get_time']],
  ])('follow tool_choice %j', async (toolChoice, content, names) => {
    const clock = { name: 'get_time', input_schema: { type: 'object' } };
    const body = messagesBody(content, { tools: [weather, clock], tool_choice: toolChoice });
    const { text } = await callMessages(simulator, body);
    const calls = (read(text, 'content') as unknown[]).filter((block) => at(block, 'type') === 'tool_use');
    expect(calls.map((block) => at(block, 'name'))).toEqual(names);
    if (names[0] === 'get_weather') expect(at(calls[0], 'input')).toEqual({ city: 'example' });
  });

  it.each([
    [{ max_tokens: 2 }, 'This is ', 'max_tokens', null],
    [{ stop_sequences: ['You', ' pro'] }, 'This is the Gatehouse', 'stop_sequence', ' pro'],
  ])('end as %j says', async (fields, text, reason, sequence) => {
    const seen = await callMessages(simulator, messagesBody('hi', fields));
    expect(read(seen.text, 'content', 0, 'text')).toBe(text);
    expect([read(seen.text, 'stop_reason'), read(seen.text, 'stop_sequence')]).toEqual([reason, sequence]);
  });

  it('have no thinking to read where it is omitted, and a document where a schema asks for it', async () => {
    const body = messagesBody('hi', {
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: { format: { type: 'json_schema', schema: weather.input_schema } },
    });
    const { text } = await callMessages(simulator, body);
    expect(read(text, 'content', 0)).toMatchObject({ type: 'thinking', thinking: '' });
    expect(read(text, 'usage', 'output_tokens_details', 'thinking_tokens')).toBe(7);
    expect(JSON.parse(String(read(text, 'content', 1, 'text')))).toEqual({ city: 'example' });
  });
});

describe('records of messages', () => {
  it('have the tokens that a prompt cache has written and read', async () => {
    const system = [{ type: 'text', text: 'a'.repeat(400), cache_control: { type: 'ephemeral' } }];
    await callMessages(simulator, messagesBody('one', { system }));
    const seen = await callMessages(simulator, messagesBody('another', { system, stream: true }));
    expect(read(namedEventsIn(seen.text).at(-2)?.data ?? '', 'usage')).toMatchObject({
      input_tokens: 5,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 103,
    });
    expect(simulator.requests.map(({ usage }) => at(usage, 'prompt_tokens_details'))).toEqual([
      { cached_tokens: 0, cache_write_tokens: 103, cache_write_1h_tokens: 0 },
      { cached_tokens: 103, cache_write_tokens: 0, cache_write_1h_tokens: 0 },
    ]);
  });

  it('have the id and the usage in the fields of chat completions', async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 50,
      cached_tokens: 60,
      cache_write_tokens: 30,
      reasoning_tokens: 20,
    };
    const seen = await callMessages(simulator, messagesBody('hi', { x_simulator: { id: 'run', usage } }));
    expect(read(seen.text, 'usage')).toMatchObject({
      input_tokens: 10,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 30,
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 20 },
    });
    const record = await simulator.waitForRequest((entry) => entry.finished_at !== null);
    expect(record).toMatchObject({
      id: 'run',
      model: 'claude-sonnet-5-5',
      response_id: read(seen.text, 'id'),
      usage_delivered: true,
      usage: {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 20 },
      },
    });
  });

  it('add up in the ledger with those of chat', async () => {
    await call(simulator, chatBody('hi'));
    await callMessages(simulator, messagesBody('hi', { stream: true }));
    await callMessages(simulator, messagesBody('hi', { stream: true, x_simulator: { cut: 'mid_stream' } }));
    const [, , last] = simulator.requests;
    await simulator.waitForRequest((entry) => entry === last && entry.finished_at !== null);
    expect(simulator.ledger().totals).toMatchObject({
      delivered: { requests: 2, prompt_tokens: 14, completion_tokens: 18, total_tokens: 32 },
      undelivered: { requests: 1, prompt_tokens: 7, completion_tokens: 9, total_tokens: 16 },
    });
    expect(simulator.requests.map(({ chunks_sent }) => chunks_sent)).toEqual([0, 14, 7]);
  });
});

describe('max_tokens', () => {
  it.each([[undefined], ['9'], [-1]])('is refused if it is %j', async (value) => {
    const seen = await callMessages(simulator, messagesBody('hi', { max_tokens: value }));
    expect([seen.status, read(seen.text, 'error', 'type')]).toEqual([400, 'invalid_request_error']);
    expect(read(seen.text, 'error', 'message')).toEqual(expect.stringMatching(/^max_tokens: /));
  });
});
