import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { makeAgent, type ChatHarness } from './chat-harness.ts';
import { answers, chunks, completion, message, messageEvents, type Fields } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';

/** Clients of one API with models of another. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [
    { id: 'gpt', provider: 'simulator', price: { input_per_mtok: '1', output_per_mtok: '2' } },
    {
      ...{ id: 'claude', provider: 'quick', max_output_tokens: 9_000, reasoning: true },
      price: { input_per_mtok: '1', cached_input_per_mtok: '0.1', output_per_mtok: '2' },
    },
    { id: 'gpt-responses', provider: 'simulator', api: 'responses', reasoning: false },
    { id: 'flash', provider: 'wrongkey' },
    { id: 'gpt-then-claude', provider: 'simulator', fallbacks: ['claude'] },
    { id: 'claude-then-gpt', provider: 'quick', fallbacks: ['gpt'] },
  ]);
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const sent = (): Fields[] => provider.received.map(({ body }) => JSON.parse(body.toString()) as Fields);
let run: string | null = null;
let ignored: string | null = null;

async function passed(init: RequestInit | undefined, path: string, dialect: string): Promise<Response> {
  if (typeof init?.body !== 'string') throw new Error('the SDKs send a text');
  const headers = { 'x-gatehouse-dialect': dialect };
  const answer = await harness.post(path, init.body, {
    headers,
    ...(init.signal && { signal: init.signal }),
  });
  run = answer.headers.get('x-run-id');
  ignored = answer.headers.get('x-gateway-ignored');
  return answer;
}
const openai = new OpenAI({
  ...{ apiKey: 'unused', baseURL: 'http://unused/v1', maxRetries: 0 },
  fetch: (_url, init) => passed(init, '/v1/chat/completions', 'chat'),
});
const anthropic = new Anthropic({
  ...{ apiKey: 'unused', baseURL: 'http://unused', maxRetries: 0 },
  fetch: (_url, init) => passed(init, '/v1/messages', 'messages'),
});

const tool = {
  name: 'search',
  description: 'Searches.',
  parameters: { type: 'object', properties: { q: { type: 'string' } } },
};
const metered = {
  status: 'ok',
  input_tokens: 10,
  cached_input_tokens: 4,
  output_tokens: 5,
  usage_estimated: false,
};

describe("a client of chat completions with a model of Anthropic's", () => {
  it('gets an answer, and its request keeps what both APIs have', async () => {
    provider.answer(whole(message([{ type: 'text', text: 'Four.' }])));
    const answer = await openai.chat.completions.create({
      ...{ model: 'claude', metadata: { a: 'b' }, temperature: 0.5, stop: ['X'] },
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'two and two?' },
      ],
    });
    expect(answer.choices[0]).toMatchObject({ message: { content: 'Four.' }, finish_reason: 'stop' });
    expect(answer.usage).toMatchObject({
      prompt_tokens: 10,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 4 },
    });
    const [received] = provider.received;
    expect(received?.path).toBe('/v1/messages');
    expect(received?.headers).toMatchObject({
      'x-api-key': 'provider-key',
      'anthropic-version': '2023-06-01',
    });
    expect(sent()[0]).toMatchObject({
      ...{ model: 'claude', max_tokens: 9_000, temperature: 0.5, stop_sequences: ['X'] },
      messages: [{ role: 'user' }],
    });
    expect(JSON.stringify(sent()[0]?.['system'])).toContain('Be brief.');
    expect(ignored).toBe('metadata');
    expect(await harness.endedRun(run)).toMatchObject({
      ...metered,
      dialect: 'chat',
      provider: 'quick',
      response_model: 'claude-x',
    });
  });

  it('streams calls of tools, thoughts in reasoning_content, and no seals', async () => {
    const blocks = [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 'toolu_1', name: 'search', input: { q: 'x' } },
    ];
    provider.answer(streamed(messageEvents(blocks, 'tool_use')));
    const stream = await openai.chat.completions.create({
      ...{ model: 'claude', stream: true, stream_options: { include_usage: true } },
      tools: [{ type: 'function', function: tool }],
      messages: [{ role: 'user', content: 'x?' }],
    });
    let text = '';
    let thought = '';
    let args = '';
    let usage: unknown;
    let reason: unknown;
    for await (const chunk of stream) {
      expect(JSON.stringify(chunk)).not.toContain('gatehouse_reasoning');
      const delta = (chunk.choices[0]?.delta ?? {}) as {
        content?: string;
        reasoning_content?: string;
        tool_calls?: { function?: { arguments?: string } }[];
      };
      text += delta.content ?? '';
      thought += delta.reasoning_content ?? '';
      args += delta.tool_calls?.[0]?.function?.arguments ?? '';
      reason = chunk.choices[0]?.finish_reason ?? reason;
      usage = chunk.usage ?? usage;
    }
    expect([text, thought, JSON.parse(args), reason]).toEqual(['I look.', 'hm', { q: 'x' }, 'tool_calls']);
    expect(usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
    expect(await harness.endedRun(run)).toMatchObject(metered);
  });

  it('is metered by what was reported, and never looks complete, if the stream is cut', async () => {
    provider.answer(streamed(messageEvents([{ type: 'text', text: 'Half' }]).slice(0, 3)));
    const stream = await openai.chat.completions.create({
      model: 'claude',
      stream: true,
      messages: [{ role: 'user', content: 'x' }],
    });
    await expect(async () => {
      for await (const chunk of stream) expect(chunk.choices[0]?.finish_reason ?? null).toBeNull();
    }).rejects.toThrow();
    expect(await harness.endedRun(run)).toMatchObject({
      status: 'error',
      input_tokens: 10,
      cached_input_tokens: 4,
    });
  });

  it('gets what the provider refuses in its own shape, and nothing of the account', async () => {
    const refusal = (type: string, text: string) => ({ type: 'error', error: { type, message: text } });
    const asked = () =>
      openai.chat.completions.create({ model: 'claude', messages: [{ role: 'user', content: 'x' }] });
    provider.answer(whole(refusal('invalid_request_error', 'prompt is too long'), 400));
    await expect(asked()).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('prompt is too long'),
    });
    provider.answer(whole(refusal('authentication_error', 'org 7'), 401));
    await expect(asked()).rejects.toMatchObject({
      status: 502,
      message: expect.not.stringContaining('org 7'),
    });
    provider.answer(whole(refusal('overloaded_error', 'busy'), 529));
    await expect(asked()).rejects.toMatchObject({ status: 503, code: 'provider_overloaded' });
  });

  it('is refused by name before any call where the meaning would be lost, unless a fallback can say it', async () => {
    const asked = (model: string) =>
      openai.chat.completions.create({ model, n: 2, messages: [{ role: 'user', content: 'x' }] });
    provider.answer(whole(completion({ content: 'x' })));
    await expect(asked('claude')).rejects.toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param: 'n',
    });
    expect(provider.received).toHaveLength(0);
    await asked('claude-then-gpt');
    expect(provider.received.map(({ path }) => path)).toEqual(['/chat/completions']);
  });

  it('falls back from one API to another, with system texts in the middle', async () => {
    provider.answer(whole({}, 500), whole(message([{ type: 'text', text: 'Four.' }])));
    const answer = await openai.chat.completions.create({
      model: 'gpt-then-claude',
      messages: [
        { role: 'user', content: 'x' },
        { role: 'system', content: 'Mind.' },
        { role: 'user', content: 'y' },
      ],
    });
    expect(answer.choices[0]?.message.content).toBe('Four.');
    expect(provider.received.map(({ path }) => path)).toEqual(['/chat/completions', '/v1/messages']);
    expect(sent().map(({ messages }) => (messages as Fields[]).map(({ role }) => role))).toEqual([
      ['user', 'system', 'user'],
      ['user'],
    ]);
  });
});

describe("a client of Anthropic's messages with a model of chat completions", () => {
  it('gets an answer, and its request keeps what both APIs have', async () => {
    provider.answer(whole(completion({ content: 'Four.' })));
    const answer = await anthropic.messages.create({
      ...{ model: 'gpt', max_tokens: 100, system: 'Be brief.', top_k: 3, metadata: { user_id: 'u' } },
      messages: [{ role: 'user', content: 'two and two?' }],
    });
    expect(answer).toMatchObject({ content: [{ type: 'text', text: 'Four.' }], stop_reason: 'end_turn' });
    expect(answer.usage).toMatchObject({ input_tokens: 6, cache_read_input_tokens: 4, output_tokens: 5 });
    expect(sent()[0]).toMatchObject({ model: 'gpt', messages: [{ content: 'Be brief.' }, { role: 'user' }] });
    expect(ignored?.split(', ').sort()).toEqual(['metadata', 'top_k']);
    expect(await harness.endedRun(run)).toMatchObject({
      ...metered,
      dialect: 'messages',
      provider: 'simulator',
    });
  });

  it('streams text and calls of tools in the order that its SDK checks', async () => {
    const call = (fields: Fields) => ({ tool_calls: [{ index: 0, ...fields }] });
    provider.answer(
      streamed(
        chunks(
          [
            { role: 'assistant', content: 'I look.' },
            call({ id: 'call_1', type: 'function', function: { name: 'search', arguments: '' } }),
            call({ function: { arguments: '{"q":' } }),
            call({ function: { arguments: '"x"}' } }),
          ],
          'tool_calls',
        ),
      ),
    );
    const final = await anthropic.messages
      .stream({
        ...{ model: 'gpt', max_tokens: 100, messages: [{ role: 'user', content: 'x?' }] },
        tools: [
          { name: 'search', description: 'Searches.', input_schema: tool.parameters as { type: 'object' } },
        ],
      })
      .finalMessage();
    expect(final.content).toMatchObject([
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', name: 'search', input: { q: 'x' } },
    ]);
    expect(final.stop_reason).toBe('tool_use');
    expect(await harness.endedRun(run)).toMatchObject(metered);
  });

  it('gets an error in its own shape', async () => {
    provider.answer(whole({ error: { message: 'bad', code: 'context_length_exceeded' } }, 400));
    const asked = anthropic.messages.create({
      model: 'gpt',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'x' }],
    });
    await expect(asked).rejects.toMatchObject({
      status: 400,
      error: { type: 'error', error: { type: 'invalid_request_error' } },
    });
  });
});

describe('every pair of APIs', () => {
  const asked: Readonly<Record<string, (model: string) => [path: string, body: Fields]>> = {
    chat: (model) => ['/v1/chat/completions', { model, messages: [{ role: 'user', content: 'x' }] }],
    responses: (model) => ['/v1/responses', { model, input: 'x' }],
    messages: (model) => [
      '/v1/messages',
      { model, max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
    ],
    gemini: (model) => [
      `/v1beta/models/${model}:generateContent`,
      { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
    ],
  };
  const pairs = Object.keys(asked).flatMap((dialect) =>
    Object.keys(answers).map((model) => [dialect, model]),
  );

  it.each(pairs)('%s asks %s, and is metered', async (dialect = '', model = '') => {
    provider.answer(whole(answers[model]));
    const [path, body] = asked[dialect]?.(model) ?? ['', {}];
    const response = await harness.post(path, body, { headers: { 'x-gatehouse-dialect': dialect } });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Four.')]);
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({ ...metered, dialect });
  });

  it.each(['gpt', 'claude'])('a body with a byte order mark reaches %s without it', async (model) => {
    provider.answer(whole(answers[model]));
    const [path, body] = asked['chat']?.(model) ?? ['', {}];
    const text = `\ufeff${JSON.stringify(body)}`;
    const response = await harness.post(path, text, { headers: { 'x-gatehouse-dialect': 'chat' } });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Four.')]);
    expect(sent()).toMatchObject([{ model }]);
  });
});

describe('a thought that was translated', () => {
  const thought = { type: 'thinking', thinking: 'hm', signature: 'gatehouse.chat=gpt.t.x' };
  const history = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: [thought, { type: 'text', text: 'y' }] },
    { role: 'user', content: 'z' },
  ];

  it("reaches no provider of the client's own API", async () => {
    provider.answer(whole(message([{ type: 'text', text: 'Four.' }])));
    const headers = { 'x-gatehouse-dialect': 'messages' };
    const asked = { model: 'claude', max_tokens: 9, messages: history };
    expect((await harness.post('/v1/messages', asked, { headers })).status).toBe(200);
    expect(sent()[0]?.['messages']).toEqual([
      history[0],
      { role: 'assistant', content: [{ type: 'text', text: 'y' }] },
      history[2],
    ]);
    provider.answer(whole(answers['gpt-responses']));
    const reasoning = { type: 'reasoning', summary: [], encrypted_content: 'gatehouse.anthropic.t.x' };
    const input = [{ role: 'user', content: 'x' }, reasoning, { role: 'user', content: 'z' }];
    const body = { model: 'gpt-responses', store: false, input };
    const response = await harness.post('/v1/responses', body, {
      headers: { 'x-gatehouse-dialect': 'responses' },
    });
    expect(response.status).toBe(200);
    expect(sent()[0]?.['input']).toEqual([input[0], input[2]]);
    provider.answer(whole(answers['flash']));
    const parts = (signature: string) => [{ text: 'y', thoughtSignature: signature }];
    const contents = (signature: string) => [
      { role: 'user', parts: [{ text: 'x' }] },
      { role: 'model', parts: parts(signature) },
      { role: 'user', parts: [{ text: 'z' }] },
    ];
    const path = '/v1beta/models/flash:generateContent';
    const asGoogle = { headers: { 'x-gatehouse-dialect': 'gemini' } };
    const marked = { contents: contents('gatehouse.anthropic.t.x') };
    expect((await harness.post(path, marked, asGoogle)).status).toBe(200);
    expect(sent()[0]?.['contents']).toEqual(contents('skip_thought_signature_validator'));
  });

  it('of an unknown thread makes the SDK send the whole conversation', async () => {
    const asked = { model: 'gpt', max_tokens: 9, messages: history, thread: { type: 'create' } };
    const response = await harness.post('/v1/messages', asked, {
      headers: { 'x-gatehouse-dialect': 'messages' },
    });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { details: { error_code: 'thread_unsupported_request', param: 'thread' } } },
    ]);
  });
});

describe('an agent', () => {
  const lookup = {
    ...{ name: 'lookup', description: 'Looks up.', schemaJson: '{"type":"object"}', tool: 'lookup' },
    ...{ serverId: 's', timeoutMs: 1_000, executor: 'agent', repeatable: true },
  };

  it('with tools acts in the API of its client, and its model gets its thoughts back', async () => {
    harness.agents.set(
      'worker',
      makeAgent({ key: 'worker', model: 'claude', systemPrompt: 'Work.', tools: { maxIterations: 4 } }),
    );
    harness.toolLists.tools = [lookup];
    provider.answer(
      streamed(
        messageEvents(
          [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'tool_use', id: 'toolu_1', name: 'lookup', input: {} },
          ],
          'tool_use',
        ),
      ),
      streamed(messageEvents([{ type: 'text', text: 'Done.' }])),
    );
    const stream = await openai.chat.completions.create({
      model: 'agent:worker',
      stream: true,
      reasoning_effort: 'medium',
      messages: [{ role: 'user', content: 'x' }],
    });
    let text = '';
    for await (const chunk of stream) {
      expect(JSON.stringify(chunk)).not.toContain('gatehouse_reasoning');
      text += chunk.choices[0]?.delta.content ?? '';
    }
    expect(text).toBe('Done.');
    const second = JSON.stringify(sent()[1]);
    expect(second).toContain('"signature":"sig"');
    expect(second).toContain('lookup was called');
    expect(await harness.endedRun(run)).toMatchObject({ status: 'ok', input_tokens: 20, output_tokens: 10 });
  });
});
