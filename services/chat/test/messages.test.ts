import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { dialects } from '@gatehouse/dialects/dialects';
import { ChatHarness, makeAgent } from './chat-harness.ts';
import { makePassage } from './memory-stand-in.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';

/** Messages with providers that speak Anthropic's API. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const anthropic = { kind: 'anthropic', base_url: provider.url, api_key_env: 'UNUSED', max_retries: 0 };
  const openai = { kind: 'openai', base_url: `${provider.url}/v1`, max_retries: 0 };
  harness = await ChatHarness.start(
    { silenceMs: 1_000 },
    {
      providers: [
        { name: 'simulator', ...anthropic },
        { name: 'other', ...openai },
        { name: 'vendor', ...anthropic },
      ],
      models: [
        { id: 'claude', provider: 'simulator', price: { input_per_mtok: '1', output_per_mtok: '2' } },
        { id: 'renamed', provider: 'simulator', upstream_model: 'claude-upstream' },
        { id: 'with-fallbacks', provider: 'simulator', fallbacks: ['renamed'] },
        { id: 'gpt', provider: 'other' },
        { id: 'elsewhere-next', provider: 'simulator', fallbacks: ['elsewhere'] },
        { id: 'elsewhere', provider: 'vendor' },
      ],
      embeddings: undefined,
    },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

type Options = Parameters<ChatHarness['post']>[2];

const post = (body: unknown, options: Options = {}): Promise<Response> =>
  harness.post('/v1/messages', body, {
    ...options,
    headers: { 'x-gatehouse-dialect': 'messages', ...options.headers },
  });

const asking = (text: string, fields: object = {}): object => ({
  ...{ model: 'claude', max_tokens: 100, messages: [{ role: 'user', content: text }] },
  ...fields,
});

const answerOf = (content: object[], stop_reason = 'end_turn'): object => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x-1', content },
  ...{ stop_reason, stop_sequence: null, usage: { input_tokens: 10, output_tokens: 4 } },
});

const event = (fields: { type: string } & Record<string, unknown>): string =>
  `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`;
const startEvent = event({
  type: 'message_start',
  message: {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x-1', content: [] },
    ...{ stop_reason: null, usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 } },
  },
});
const textEvents = (index: number, ...texts: string[]): string[] => [
  event({ type: 'content_block_start', index, content_block: { type: 'text', text: '' } }),
  ...texts.map((text) => event({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } })),
  event({ type: 'content_block_stop', index }),
];
const callEvents = (index: number, id: string, name: string, json: string): string[] => [
  event({ type: 'content_block_start', index, content_block: { type: 'tool_use', id, name, input: {} } }),
  event({ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: json } }),
  event({ type: 'content_block_stop', index }),
];
const endEvent = (stop_reason = 'end_turn'): string =>
  event({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 6 } });
const stopEvent = 'event: message_stop\ndata: {"type": "message_stop"}\n\n';

const sent = (): Record<string, unknown>[] =>
  provider.received.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>);

describe('a message', () => {
  it('goes out and comes back byte for byte, and is metered', async () => {
    const body = `{ "model":"claude",  "max_tokens":1e2,"newer":{"a":[1.0,12345678901234567890]},
      "metadata":{"user_id":"user_x_session_from-the-body"},"messages":[{"role":"user","content":"Größe \\ud800?"}] }`;
    const answer = JSON.stringify(
      answerOf([
        { type: 'text', text: 'Groß.' },
        { type: 'newer', a: 1.5 },
      ]),
      null,
      2,
    );
    provider.answer(whole(answer));
    const agent = { 'user-agent': 'claude-cli/2.1.332 (external, cli)' };
    const versions = { 'anthropic-version': '2024-01-01', 'anthropic-beta': 'a-1,b-2' };
    const headers = { ...versions, ...agent, 'x-other': 'x' };
    const response = await post(body, { headers });
    expect([response.status, await response.text()]).toEqual([200, answer]);
    const [received] = provider.received;
    expect([received?.path, received?.body.toString()]).toEqual(['/v1/messages', body]);
    expect(received?.headers).toMatchObject({
      ...{ 'x-api-key': 'provider-key', ...versions },
    });
    expect(received?.headers['user-agent']).toBe('gatehouse');
    expect(received?.headers).not.toHaveProperty('x-other');
    expect(received?.headers).not.toHaveProperty('authorization');
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'ok', provider: 'simulator', model: 'claude', response_model: 'claude-x-1' },
      ...{ input_tokens: 10, output_tokens: 4, usage_estimated: false, session_id: 'from-the-body' },
      ...{ dialect: 'messages', client: 'claude-code' },
      ...{ input_preview: 'Größe \ufffd?', output_preview: 'Groß.' },
    });
  });

  it('has the version that Gatehouse knows, its model’s name, and the session of its client’s header', async () => {
    provider.answer(whole(answerOf([])));
    const response = await post(asking('hi', { model: 'renamed' }), {
      headers: { 'x-claude-code-session-id': 'code-1' },
    });
    expect(response.status).toBe(200);
    expect(provider.received[0]?.headers['anthropic-version']).toBe('2023-06-01');
    expect(sent()).toMatchObject([{ model: 'claude-upstream' }]);
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    expect(run).toMatchObject({ session_id: 'code-1', output_tokens: 4 });
  });

  it('is answered by a fallback where the provider fails', async () => {
    provider.answer(whole({}, 500), whole(answerOf([{ type: 'text', text: 'x' }])));
    const fallen = await post(asking('hi', { model: 'with-fallbacks' }));
    expect([fallen.status, fallen.headers.get('x-gateway-model')]).toEqual([200, 'renamed']);
  });

  it.each([
    [400, 400, true],
    [413, 413, true],
    [422, 422, true],
    [404, 404, false],
    [429, 429, false],
    [401, 502, false],
    [500, 502, false],
    [529, 529, false],
  ])('that the provider answers with %i is %i, and keeps its words: %j', async (status, expected, kept) => {
    const words = `{"type":"error", "error":{"type":"some_error","message":"Invalid \`signature\` of org-1"}}`;
    provider.answer(whole(words, status, { 'retry-after': '7' }));
    const response = await post(asking('hi'));
    const text = await response.text();
    expect(response.status).toBe(expected);
    expect(response.headers.get('x-run-id')).toMatch(/./);
    if (kept) expect(text).toBe(words);
    else {
      expect(text).not.toContain('org-1');
      expect(JSON.parse(text)).toMatchObject({ type: 'error', error: { type: expect.any(String) } });
    }
    if (status === 429) expect(response.headers.get('retry-after')).toBe('7');
    if (status === 529) expect(text).toContain('"overloaded_error"');
  });
});

describe('a streamed message', () => {
  const read = async (
    fields: object = {},
    options: Options = {},
  ): Promise<{ text: string; run: string | null }> => {
    const response = await post(asking('hi', { stream: true, ...fields }), options);
    return { text: await response.text(), run: response.headers.get('x-run-id') };
  };

  it('comes back byte for byte, with its own end, once the run has ended', async () => {
    const ping = 'event: ping\ndata: {"type":"ping", "own":1}\n\n';
    const newer = 'id: 7\nevent: newer_event\ndata: {"type":"newer_event","x":1.0}\n\n';
    const frames = [startEvent, ping, ...textEvents(0, 'Hel', 'lo'), newer, endEvent(), stopEvent];
    provider.answer(streamed(frames));
    const { text, run } = await read();
    // A machine that stands still for a moment makes the gateway show signs of life.
    expect(text.replaceAll(String(dialects.messages.keepAlive), '')).toBe(frames.join(''));
    expect(await harness.endedRun(run)).toMatchObject({
      ...{ status: 'ok', streamed: true, input_tokens: 15, cached_input_tokens: 5, output_tokens: 6 },
      ...{ usage_estimated: false, output_preview: 'Hello' },
    });
  });

  it('that was cut ends with an error, and costs what was reported and answered', async () => {
    provider.answer(streamed([startEvent, ...textEvents(0, 'One two three four')], { cut: true }));
    const { text, run } = await read();
    expect(text).toMatch(/event: error\ndata: \{"type":"error","error":\{"type":"api_error"[^\n]*\n\n$/);
    expect(text).not.toContain('message_stop');
    expect(await harness.endedRun(run)).toMatchObject({
      ...{
        status: 'error',
        input_tokens: 15,
        cached_input_tokens: 5,
        output_tokens: 4,
        usage_estimated: true,
      },
    });
  });

  it('goes to the fallback for an error before its first block, and ends with one behind it', async () => {
    const error = event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } });
    provider.answer(
      streamed([startEvent, error]),
      streamed([startEvent, ...textEvents(0, 'x'), endEvent(), stopEvent]),
    );
    const { text } = await read({ model: 'with-fallbacks' });
    expect(text).toContain('message_stop');
    expect(sent().map(({ model }) => model)).toEqual(['with-fallbacks', 'claude-upstream']);
    provider.answer(streamed([startEvent, ...textEvents(0, 'x'), error]));
    const { text: broken } = await read();
    expect(broken).toMatch(/event: error\n[^\n]*"overloaded_error"[^\n]*\n\n$/);
    expect(broken).not.toContain('Overloaded');
  });

  it('shows signs of life while the provider is silent, and ends its call when the client leaves', async () => {
    let closedAt = 0;
    provider.answer(({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(startEvent + textEvents(0, 'x').join(''));
      response.on('close', () => (closedAt = Date.now()));
    });
    const leave = new AbortController();
    const response = await post(asking('hi', { stream: true }), { signal: leave.signal });
    let text = '';
    const leftAt = await (async () => {
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        if (text.includes('event: ping\n')) break;
      }
      return Date.now();
    })();
    leave.abort();
    await eventually(() => expect(closedAt).toBeGreaterThan(0));
    // It waits a second for the usage at most.
    expect(closedAt - leftAt).toBeLessThan(10_000);
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({ status: 'cancelled' });
  });
});

it('goes to another provider without signed thoughts that are not its own', async () => {
  const thought = { type: 'thinking', thinking: 'hm', signature: 'c2ln' };
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: [thought, { type: 'text', text: 'b' }] },
    { role: 'user', content: 'c' },
  ];
  provider.answer(whole({}, 500), whole({}, 500));
  const response = await post(asking('x', { model: 'elsewhere-next', messages }));
  const signed = provider.received.map(({ body }) => body.includes('c2ln'));
  expect([response.status, signed]).toEqual([502, [true, false]]);
  provider.answer(whole({}, 500), whole(answerOf([])));
  const plain = await post(asking('x', { model: 'elsewhere-next' }));
  expect([plain.status, plain.headers.get('x-gateway-provider')]).toEqual([200, 'vendor']);
});

describe('an agent', () => {
  const tool = {
    ...{ name: 'lookup', description: 'Looks up.', schemaJson: '{"type":"object"}', tool: 'lookup' },
    ...{ serverId: 's', timeoutMs: 1_000, executor: 'agent', repeatable: true },
  };

  it('adds its prompt, its parameters and what it remembers', async () => {
    const memory = { enabled: true, write: true, analyser: 'english', recallLimit: 5, minScore: 0 };
    harness.agents.set(
      'helper',
      makeAgent({
        ...{ key: 'helper', model: 'claude', systemPrompt: 'Be kind.' },
        parametersJson: '{"temperature":0.3,"max_tokens":50,"seed":1}',
        memory,
      }),
    );
    harness.memory.passages = [makePassage({ text: 'Thirty days.' })];
    provider.answer(whole(answerOf([{ type: 'text', text: 'Thirty.' }])));
    const { max_tokens: _max, ...request } = asking('How long?', { model: 'agent:helper' }) as Record<
      string,
      unknown
    >;
    const response = await post(request, { principal: { userId: 'ann' } });
    expect(response.status).toBe(200);
    const [body] = sent();
    expect(body).toMatchObject({ model: 'claude', system: 'Be kind.', temperature: 0.3, max_tokens: 50 });
    expect(body).not.toHaveProperty('seed');
    const [message] = body?.['messages'] as { content: { text: string }[] }[];
    expect(message?.content[0]?.text).toContain('Thirty days.');
    expect(message?.content[1]).toEqual({ type: 'text', text: 'How long?' });
    await eventually(() => expect(harness.memory.turns.at(-1)).toMatchObject({ output: 'Thirty.' }));
  });

  it('has its parameters named that no field of messages can hold, whichever API its model has', async () => {
    const parametersJson = '{"seed":7,"temperature":0.5,"presence_penalty":1}';
    harness.agents.set('tuned', makeAgent({ key: 'tuned', model: 'claude', parametersJson }));
    provider.answer(whole(answerOf([{ type: 'text', text: 'x' }])));
    const answer = await post(asking('x', { model: 'agent:tuned' }));
    expect([answer.status, answer.headers.get('x-gateway-ignored')]).toEqual([200, 'seed, presence_penalty']);
    expect(JSON.parse(String(provider.received[0]?.body))).toMatchObject({ temperature: 0.5 });
  });

  it('calls its tools, unary and streamed, and the client sees one message', async () => {
    harness.agents.set('worker', makeAgent({ key: 'worker', model: 'claude', tools: { maxIterations: 4 } }));
    harness.toolLists.tools = [tool];
    const thought = { type: 'thinking', thinking: 'hm', signature: 'c2ln' };
    const call = { type: 'tool_use', id: 'toolu_1', name: 'lookup', input: { q: 1 } };
    provider.answer(
      whole(answerOf([thought, call], 'tool_use')),
      whole(answerOf([{ type: 'text', text: 'It is 4.' }])),
    );
    const response = await post(asking('hi', { model: 'agent:worker' }));
    expect(await response.json()).toEqual({
      ...answerOf([{ type: 'text', text: 'It is 4.' }]),
      usage: { input_tokens: 20, output_tokens: 8 },
    });
    const [first, second] = sent();
    expect(first?.['tools']).toEqual([
      { name: 'lookup', description: 'Looks up.', input_schema: { type: 'object' } },
    ]);
    expect(second).toMatchObject({ tool_choice: { type: 'auto' } });
    const messages = second?.['messages'] as { role: string; content: unknown }[];
    expect(messages.slice(1)).toEqual([
      { role: 'assistant', content: [thought, call] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: expect.stringContaining('lookup was called'),
          },
        ],
      },
    ]);
    provider.answer(
      streamed([
        startEvent,
        ...callEvents(0, 'toolu_2', 'lookup', '{"q":2}'),
        endEvent('tool_use'),
        stopEvent,
      ]),
      streamed([startEvent, ...textEvents(0, 'It is 4.'), endEvent(), stopEvent]),
    );
    const stream = await post(asking('hi', { model: 'agent:worker', stream: true }));
    const text = await stream.text();
    expect(text.match(/event: message_start/g)).toHaveLength(1);
    expect(text).not.toContain('toolu_2');
    expect(text).toContain('It is 4.');
    expect(text).toMatch(
      /"stop_reason":"end_turn"[^\n]*"output_tokens":12[^\n]*\n\nevent: message_stop\n[^\n]*\n\n$/,
    );
    expect(await harness.endedRun(stream.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'ok', input_tokens: 30, output_tokens: 12 },
    });
  });
});
