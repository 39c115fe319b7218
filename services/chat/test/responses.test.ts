import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import OpenAI from 'openai';
import { ChatHarness, makeAgent } from './chat-harness.ts';
import { makePassage } from './memory-stand-in.ts';
import {
  answerOf,
  callItem,
  eventsOf,
  framesOf,
  messageItem,
  thought,
  type Fields,
} from './response-answers.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';

/** Responses with providers that speak OpenAI's Responses API. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const openai = { kind: 'openai', base_url: `${provider.url}/v1`, max_retries: 0 };
  harness = await ChatHarness.start(
    { silenceMs: 1_000 },
    {
      providers: [{ name: 'simulator', ...openai, api_key_env: 'UNUSED' }],
      models: [
        {
          ...{ id: 'gpt', provider: 'simulator', api: 'responses', reasoning: true },
          price: { input_per_mtok: '1', output_per_mtok: '2' },
        },
        { id: 'renamed', provider: 'simulator', api: 'responses', upstream_model: 'gpt-upstream' },
        { id: 'with-fallbacks', provider: 'simulator', api: 'responses', fallbacks: ['renamed'] },
        { id: 'chat', provider: 'simulator' },
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
  harness.post('/v1/responses', body, {
    ...options,
    headers: { 'x-gatehouse-dialect': 'responses', ...options.headers },
  });

const encrypted = 'reasoning.encrypted_content';
const exact = { model: 'gpt', store: false, include: [encrypted] };
const asking = (input: unknown, fields: object = {}): Fields => ({ ...exact, input, ...fields });

const sent = (): Fields[] => provider.received.map(({ body }) => JSON.parse(body.toString()) as Fields);

describe('a response', () => {
  it('goes out and comes back byte for byte, and is metered', async () => {
    const body = `{ "model":"gpt",  "max_output_tokens":1e2,"newer":{"a":[1.0,12345678901234567890]},"store": false,
      "include":["${encrypted}"],"prompt_cache_key":"from-the-body",
      "tools":[{"type":"custom","name":"exec"},{"type":"namespace","name":"n","tools":[]},{"type":"web_search"}],
      "input":[{"type":"additional_tools","role":"developer","tools":[]},{"role":"user","content":"Größe \\ud800?"}] }`;
    const answer = JSON.stringify(
      answerOf([thought('rs_1'), messageItem('Groß.'), { type: 'newer', a: 1.5 }]),
      null,
      2,
    );
    provider.answer(whole(answer));
    const response = await post(body, { headers: { 'openai-beta': 'x=1', 'x-other': 'x' } });
    expect([response.status, await response.text()]).toEqual([200, answer]);
    const [received] = provider.received;
    expect([received?.path, received?.body.toString()]).toEqual(['/v1/responses', body]);
    expect(received?.headers).toMatchObject({ authorization: 'Bearer provider-key', 'openai-beta': 'x=1' });
    expect(received?.headers).not.toHaveProperty('x-other');
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{
        status: 'ok',
        provider: 'simulator',
        model: 'gpt',
        response_model: 'gpt-x-1',
        dialect: 'responses',
      },
      ...{
        input_tokens: 10,
        cached_input_tokens: 4,
        output_tokens: 6,
        reasoning_tokens: 2,
        usage_estimated: false,
      },
      ...{ session_id: 'from-the-body', input_preview: 'Größe \ufffd?', output_preview: 'Groß.' },
    });
  });

  it('is stored at no provider, though the client sees what it asked for', async () => {
    provider.answer(whole(answerOf([thought('rs_1'), messageItem('x')])));
    const response = await post({ model: 'gpt', input: 'hi' });
    expect(sent()).toEqual([{ model: 'gpt', input: 'hi', store: false, include: [encrypted] }]);
    const id = `resp_${response.headers.get('x-run-id')?.replaceAll('-', '') ?? ''}`;
    const output = [{ ...thought('rs_1'), encrypted_content: null }, messageItem('x')];
    const shown = { id, store: true, previous_response_id: null };
    expect(await response.json()).toEqual(answerOf(output, shown));
  });

  it.each(['conversation', 'prompt', 'background'])('with %s is refused', async (name) => {
    provider.answer();
    const value = { background: true, prompt: { id: 'p' } }[name] ?? 'x';
    const response = await post(asking('hi', { [name]: value }));
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'unsupported_parameter', param: name } },
    ]);
    expect(provider.received).toHaveLength(0);
  });

  it('is answered by a fallback where the provider fails', async () => {
    provider.answer(whole({}, 500), whole(answerOf([messageItem('x')])));
    const fallen = await post(asking('hi', { model: 'with-fallbacks' }));
    expect([fallen.status, fallen.headers.get('x-gateway-model')]).toEqual([200, 'renamed']);
    expect(sent().map(({ model }) => model)).toEqual(['with-fallbacks', 'gpt-upstream']);
  });

  it.each([
    [400, 400, true],
    [422, 422, true],
    [404, 404, false],
    [429, 429, false],
    [500, 502, false],
  ])('that the provider answers with %i is %i, and keeps its words: %j', async (status, expected, kept) => {
    const words = `{"error": {"type":"some_error","code":"some_code","message":"of org-1"}}`;
    provider.answer(whole(words, status));
    const response = await post(asking('hi'));
    const text = await response.text();
    expect(response.status).toBe(expected);
    if (kept) expect(text).toBe(words);
    else expect(text).not.toContain('org-1');
  });
});

describe('a streamed response', () => {
  const read = async (fields: object = {}): Promise<{ text: string; run: string | null }> => {
    const response = await post(asking('hi', { stream: true, ...fields }));
    return { text: await response.text(), run: response.headers.get('x-run-id') };
  };

  it('comes back byte for byte, with its own end, once the run has ended', async () => {
    const newer = 'id: 7\nevent: response.newer\ndata: {"type":"response.newer","x":1.0}\n\n';
    const frames = framesOf(eventsOf([thought('rs_1'), messageItem('Hello')]));
    frames.splice(5, 0, newer);
    provider.answer(streamed([...frames, 'data: [DONE]\n\n']));
    const { text, run } = await read();
    expect(text).toBe(frames.join(''));
    expect(await harness.endedRun(run)).toMatchObject({
      ...{ status: 'ok', streamed: true, input_tokens: 10, cached_input_tokens: 4, output_tokens: 6 },
      ...{ reasoning_tokens: 2, usage_estimated: false, output_preview: 'Hello' },
    });
  });

  it('that was cut ends with an error and a failed response, numbered on', async () => {
    const frames = framesOf(eventsOf([messageItem('One two three four')])).slice(0, 5);
    provider.answer(streamed(frames, { cut: true }));
    const { text, run } = await read();
    const events = text.split('\n\n').filter((frame) => frame.includes('data: '));
    const last = events
      .slice(-2)
      .map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as Fields);
    expect(last).toMatchObject([
      { type: 'error', sequence_number: 5, message: expect.any(String) },
      {
        type: 'response.failed',
        sequence_number: 6,
        response: { id: 'resp_1', status: 'failed', model: 'gpt-x-1' },
      },
    ]);
    expect(text).not.toContain('response.completed');
    const ended = await harness.endedRun(run);
    expect(ended).toMatchObject({ status: 'error', usage_estimated: true });
    // The text, beside what a model that thinks unasked may have thought until then.
    expect(ended.output_tokens - ended.reasoning_tokens).toBe(4);
  });

  it('goes to the fallback for an error before its first item', async () => {
    const [created = ''] = framesOf(eventsOf([]));
    const failed = framesOf([
      {
        type: 'response.failed',
        response: answerOf([], { status: 'failed', error: { code: 'server_error', message: 'no' } }),
      },
    ]);
    provider.answer(streamed([created, ...failed]), streamed(framesOf(eventsOf([messageItem('x')]))));
    expect((await read({ model: 'with-fallbacks' })).text).toContain('response.completed');
    expect(sent().map(({ model }) => model)).toEqual(['with-fallbacks', 'gpt-upstream']);
  });

  it('ends with an incomplete response as the provider has it', async () => {
    const events = eventsOf([messageItem('x')]);
    events.splice(-1, 1, {
      type: 'response.incomplete',
      response: answerOf([messageItem('x')], { status: 'incomplete' }),
    });
    provider.answer(streamed(framesOf(events)));
    const { text, run } = await read();
    expect(text).toBe(framesOf(events).join(''));
    expect(await harness.endedRun(run)).toMatchObject({ status: 'ok', output_tokens: 6 });
  });
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
        ...{ key: 'helper', model: 'gpt', systemPrompt: 'Be kind.' },
        parametersJson: '{"temperature":0.3,"max_tokens":50,"seed":1}',
        memory,
      }),
    );
    harness.memory.passages = [makePassage({ text: 'Thirty days.' })];
    const repeated = { instructions: 'Be kind.\n\nBe short.' };
    provider.answer(whole(answerOf([messageItem('Thirty.')], repeated)));
    const response = await post(asking('How long?', { model: 'agent:helper', instructions: 'Be short.' }), {
      principal: { userId: 'ann' },
    });
    expect([response.status, await response.json()]).toMatchObject([200, { instructions: 'Be short.' }]);
    const [body] = sent();
    expect(body).toMatchObject({
      ...{ model: 'gpt', instructions: 'Be kind.\n\nBe short.', temperature: 0.3, max_output_tokens: 50 },
    });
    expect(body).not.toHaveProperty('seed');
    const [reference, question] = body?.['input'] as Fields[];
    expect(reference?.['content']).toContain('Thirty days.');
    expect(question).toEqual({ type: 'message', role: 'user', content: 'How long?' });
    await eventually(() => expect(harness.memory.turns.at(-1)).toMatchObject({ output: 'Thirty.' }));
  });

  it('calls its tools, unary and streamed, and OpenAI’s SDK reads one response', async () => {
    harness.agents.set('worker', makeAgent({ key: 'worker', model: 'gpt', tools: { maxIterations: 4 } }));
    harness.toolLists.tools = [tool];
    const call = callItem('call_1', 'lookup', '{"q":1}');
    provider.answer(whole(answerOf([thought('rs_1'), call])), whole(answerOf([messageItem('It is 4.')])));
    const response = await post(asking('hi', { model: 'agent:worker' }));
    const shown = (await response.json()) as Fields;
    expect(shown).toMatchObject({
      output: [messageItem('It is 4.')],
      usage: { input_tokens: 20, output_tokens: 12 },
    });
    const [first, second] = sent();
    expect(first?.['tools']).toEqual([
      {
        ...{ type: 'function', name: 'lookup', description: 'Looks up.' },
        ...{ parameters: { type: 'object' }, strict: false },
      },
    ]);
    expect(second).toMatchObject({ tool_choice: 'auto' });
    expect((second?.['input'] as Fields[]).slice(1)).toEqual([
      thought('rs_1'),
      call,
      {
        ...{ type: 'function_call_output', call_id: 'call_1' },
        output: expect.stringContaining('lookup was called'),
      },
    ]);

    provider.answer(
      streamed(framesOf(eventsOf([thought('rs_2'), callItem('call_2', 'lookup', '{"q":2}')]))),
      streamed(framesOf(eventsOf([thought('rs_3'), messageItem('It is 4.')], 'resp_2'))),
    );
    let run: string | null = null;
    const client = new OpenAI({
      ...{ apiKey: 'unused', baseURL: `${harness.url}/v1`, maxRetries: 0 },
      fetch: async (_url, init) => {
        if (typeof init?.body !== 'string') throw new Error('the SDK sends a text');
        const answer = await post(init.body);
        run = answer.headers.get('x-run-id');
        return answer;
      },
    });
    const stream = client.responses.stream({ model: 'agent:worker', input: 'hi' });
    const numbers: number[] = [];
    for await (const event of stream) numbers.push(event.sequence_number);
    const final = await stream.finalResponse();
    expect(final.id).toBe(`resp_${String(run).replaceAll('-', '')}`);
    expect(final).toMatchObject({ store: true, output_text: 'It is 4.' });
    expect(final.output.map(({ type }) => type)).toEqual(['reasoning', 'reasoning', 'message']);
    expect(JSON.stringify(final)).not.toContain('enc-rs');
    expect(numbers).toEqual(numbers.map((_number, index) => index));
    expect(final.usage).toMatchObject({ input_tokens: 20, output_tokens: 12, total_tokens: 32 });
    expect(await harness.endedRun(run)).toMatchObject({ status: 'ok', input_tokens: 20, output_tokens: 12 });
  });
});
