import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import OpenAI from 'openai';
import { SummarySeals } from '../src/stored-responses/summary-seals.ts';
import { ChatHarness, makeAgent } from './chat-harness.ts';
import { answerOf, eventsOf, framesOf, messageItem, type Fields } from './response-answers.ts';
import { ScriptedProvider, streamed, whole, type Script } from './scripted-provider.ts';
import { chunks, completion, message, messageEvents } from './translated-answers.ts';

/** Summaries that replace conversations, with models of each API. */

let provider: ScriptedProvider;
let harness: ChatHarness;
let replica: string;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const common = { base_url: provider.url, max_retries: 0, api_key_env: 'UNUSED' };
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { ...common, name: 'simulator', kind: 'openai' },
        { ...common, name: 'quick', kind: 'anthropic' },
        { ...common, name: 'wrongkey', kind: 'openai' },
      ],
      models: [
        { id: 'gpt', provider: 'simulator', price: { input_per_mtok: '1', output_per_mtok: '2' } },
        { id: 'claude', provider: 'quick', max_output_tokens: 9_000, reasoning: false },
        { id: 'native', provider: 'simulator', api: 'responses', reasoning: false },
        { id: 'elsewhere', provider: 'wrongkey', api: 'responses', reasoning: false },
        { id: 'without', provider: 'simulator', api: 'responses', reasoning: false },
        { id: 'unknown', provider: 'simulator', api: 'responses', reasoning: false },
      ],
      embeddings: undefined,
    },
  );
  replica = `http://127.0.0.1:${(await harness.startReplica()).httpPort}`;
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const tenantId = newId();
const ann = { tenantId, userId: 'ann' };
interface Options {
  path?: string;
  principal?: Partial<Principal>;
  url?: string;
}
const post = (body: object, { path = '', principal = ann, url }: Options = {}): Promise<Response> =>
  harness.post(`/v1/responses${path}`, body, {
    ...{ principal, headers: { 'x-gatehouse-dialect': 'responses' } },
    ...(url !== undefined && { url }),
  });
async function answered(body: object, options?: Options): Promise<Fields & { output: Fields[]; id: string }> {
  const response = await post(body, options);
  const answer = (await response.json()) as Fields & { output: Fields[]; id: string };
  expect([response.status, answer]).toEqual([200, answer]);
  return answer;
}
const sent = (): Fields => JSON.parse(provider.received.at(-1)?.body.toString() ?? '') as Fields;
const user = (text: string): Fields => ({ type: 'message', role: 'user', content: text });
const trigger = { type: 'compaction_trigger' };
const called = { type: 'function_call', call_id: 'call_1', name: 'search', arguments: '{}' };
const result = { type: 'function_call_output', call_id: 'call_1', output: 'found it' };
const tools = [{ type: 'function', name: 'search', parameters: { type: 'object' } }];
const history = [user('Find it.'), called, result];
const summary = 'The user wants it; it was found.';

/** The ways in which models of another API write a summary, and the rest that they are asked. */
const writers: readonly [model: string, script: Script, stream: Script][] = [
  [
    'gpt',
    whole(completion({ content: summary })),
    streamed(chunks([{ content: 'The user wants it; ' }, { content: 'it was found.' }])),
  ],
  [
    'claude',
    whole(message([{ type: 'text', text: summary }])),
    streamed(messageEvents([{ type: 'text', text: summary }])),
  ],
];

/** The sealed summary that a model wrote. */
async function compacted(model = 'gpt', principal: Partial<Principal> = ann): Promise<Fields> {
  provider.answer(writers.find(([name]) => name === model)?.[1] ?? whole({}));
  const { output } = await answered({ model, input: [...history, trigger], tools }, { principal });
  return output[0] ?? {};
}

describe('a compaction by a model of another API', () => {
  it.each(writers)('is a summary of %s, sealed in the only item, whole and streamed', async (...of) => {
    const [model, script, stream] = of;
    provider.answer(script);
    const { output, usage } = await answered({ model, input: [...history, trigger], tools });
    expect(output).toEqual([
      {
        ...{ id: expect.stringMatching(/^cmp_./), type: 'compaction' },
        encrypted_content: expect.stringMatching(/^gatehouse\.summary\.[\w-]{100,}$/),
      },
    ]);
    expect(JSON.stringify(output)).not.toContain('found');
    expect(usage).toMatchObject({ input_tokens: 10, output_tokens: 5 });
    // It is asked without calling a tool, and sees the whole conversation.
    const choice = { gpt: 'none', claude: { type: 'none' } }[model];
    expect(sent()).toMatchObject({ tool_choice: choice, tools: [{}] });
    const asked = JSON.stringify(sent()['messages']);
    expect(asked).toMatch(/Find it\..*found it.*Summarise this conversation/);
    expect(asked).not.toContain('trigger');

    provider.answer(stream);
    const client = new OpenAI({
      ...{ apiKey: 'unused', baseURL: 'http://unused/v1', maxRetries: 0 },
      fetch: (_url, init) => {
        if (typeof init?.body !== 'string') throw new Error('the SDK sends a text');
        return post(JSON.parse(init.body) as object);
      },
    });
    const types: string[] = [];
    // The SDK's types have no trigger yet.
    const input = [...history, trigger] as unknown as OpenAI.Responses.ResponseInput;
    const events = await client.responses.create({ model, input, store: false, stream: true });
    let last: Fields = {};
    for await (const event of events) {
      types.push(event.type);
      last = { ...event };
    }
    expect(types).toEqual([
      ...['response.created', 'response.in_progress', 'response.output_item.added'],
      ...['response.output_item.done', 'response.completed'],
    ]);
    expect(last['response']).toMatchObject({ output: [{ type: 'compaction' }], status: 'completed' });
  });

  it('is a run, with its usage and cost', async () => {
    provider.answer(writers[0]?.[1] ?? whole({}));
    const response = await post({ model: 'gpt', input: [...history, trigger] });
    const run = response.headers.get('x-run-id');
    expect(await harness.endedRun(run)).toMatchObject({
      ...{ status: 'ok', input_tokens: 10, output_tokens: 5, priced: true, usage_estimated: false },
    });
  });

  it.each([
    ['whole', whole(completion({ content: ' ' })), false],
    ['streamed', streamed(chunks([{ content: '' }])), true],
  ])('without a summary is an error, %s', async (_name, script, stream) => {
    provider.answer(script);
    const response = await post({ model: 'gpt', input: [...history, trigger], stream });
    const text = await response.text();
    expect(text).toContain('error');
    expect(text).not.toContain('"type":"compaction"');
    expect(stream || response.status === 502).toBe(true);
  });

  it('has neither the tools of an agent nor what it remembers', async () => {
    harness.agents.set('kind', makeAgent({ key: 'kind', model: 'gpt', systemPrompt: 'Be kind.' }));
    provider.answer(writers[0]?.[1] ?? whole({}));
    await answered({ model: 'agent:kind', input: [...history, trigger] });
    expect(JSON.stringify(sent()['messages'])).toContain('Be kind.');
  });
});

describe('POST /v1/responses/compact', () => {
  it.each(writers)('returns the messages of the user and a summary of %s', async (model, script) => {
    provider.answer(script);
    const answer = await answered({ model, input: history, instructions: 'x' }, { path: '/compact' });
    expect(answer).toEqual({
      ...{ id: expect.stringMatching(/^resp_/), object: 'response.compaction' },
      created_at: expect.any(Number),
      output: [
        {
          ...{ id: expect.stringMatching(/^msg_/), type: 'message', role: 'user', status: 'completed' },
          content: [{ type: 'input_text', text: 'Find it.' }],
        },
        { id: expect.any(String), type: 'compaction', encrypted_content: expect.any(String) },
      ],
      usage: expect.objectContaining({ total_tokens: 15 }),
    });
    // All of it is the input of the next request.
    provider.answer(whole(completion({ content: 'Gladly.' })));
    await answered({ model: 'gpt', input: [...answer.output, user('Go on.')] });
    const said = (sent()['messages'] as Fields[]).map(({ role }) => role);
    expect(said).toEqual(['user', 'user', 'user']);
    expect(JSON.stringify(sent()['messages'])).toContain(summary);
  });

  it('takes the conversation of an earlier response, without an input', async () => {
    provider.answer(whole(completion({ content: 'Found.' })));
    const { id } = await answered({ model: 'gpt', input: 'Find it.' });
    for (const more of [{}, { input: null }, { input: [] }, { input: 'Where?' }]) {
      provider.answer(writers[0]?.[1] ?? whole({}));
      const body = { model: 'gpt', previous_response_id: id, ...more };
      const { output } = await answered(body, { path: '/compact' });
      expect(output.at(-1)).toMatchObject({ type: 'compaction' });
      expect(JSON.stringify(sent()['messages'])).toMatch(/Find it\..*Found\./);
    }
    for (const body of [{}, { input: null }, { input: [] }]) {
      const refused = await post({ model: 'gpt', ...body }, { path: '/compact' });
      expect(refused.status).toBe(400);
    }
  });

  it("is the provider's own where it speaks this API", async () => {
    const own = {
      ...{ id: 'resp_1', object: 'response.compaction', created_at: 7, big: 1 },
      output: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'enc' }],
      usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    };
    provider.answer(whole(own));
    const response = await post({ model: 'native', input: history }, { path: '/compact' });
    expect(await response.json()).toEqual(own);
    expect(provider.received[0]?.path).toBe('/responses/compact');
    expect(sent()).toEqual({ model: 'native', input: history });
    const run = response.headers.get('x-run-id');
    expect(await harness.endedRun(run)).toMatchObject({ status: 'ok', input_tokens: 10, output_tokens: 5 });
  });
});

describe('a conversation with a summary', () => {
  it('goes on with models of each API, on another replica', async () => {
    const item = await compacted('claude');
    const input = [user('Find it.'), item, user('And now?')];
    provider.answer(whole(answerOf([messageItem('Here.')])));
    await answered({ model: 'native', input }, { url: replica });
    const [first, opened, last] = sent()['input'] as Fields[];
    expect([first, last]).toEqual([user('Find it.'), user('And now?')]);
    expect(opened).toMatchObject({ type: 'message', role: 'user', content: [{ type: 'input_text' }] });
    expect(JSON.stringify(opened)).toContain(summary);
    provider.answer(whole(message([{ type: 'text', text: 'Here.' }])));
    await answered({ model: 'claude', input });
    expect(JSON.stringify(sent())).toContain(summary);
    expect(JSON.stringify(sent())).not.toContain('gatehouse.summary');
  });

  it('goes on from the kept response, without what the summary replaces', async () => {
    provider.answer(writers[0]?.[1] ?? whole({}));
    const { id } = await answered({ model: 'gpt', input: [...history, trigger], tools });
    provider.answer(whole(answerOf([messageItem('Here.')])));
    const next = await answered({ model: 'native', previous_response_id: id, input: 'And now?' });
    const input = sent()['input'] as Fields[];
    expect(input).toHaveLength(3);
    expect([input[0], input[2]]).toEqual([user('Find it.'), user('And now?')]);
    expect(JSON.stringify(input[1])).toContain(summary);
    provider.answer(whole(message([{ type: 'text', text: 'x' }])));
    await answered({ model: 'claude', previous_response_id: next.id, input: 'More.' });
    expect(JSON.stringify(sent())).toMatch(/it was found.*And now.*Here.*More/);
  });

  it('can be compacted again, and be named by its id', async () => {
    const item = await compacted();
    provider.answer(whole(answerOf([messageItem('Here.')])));
    await answered({ model: 'native', input: [{ type: 'item_reference', id: item['id'] }, user('x')] });
    expect(JSON.stringify(sent())).toContain(summary);
    provider.answer(writers[0]?.[1] ?? whole({}));
    const again = await answered({ model: 'gpt', input: [user('a'), item, user('b')] }, { path: '/compact' });
    // The summary before is part of the new one.
    expect(again.output.map(({ type }) => type)).toEqual(['message', 'message', 'compaction']);
  });

  it('counts as what the model reads', async () => {
    const item = await compacted();
    provider.answer(whole({ object: 'response.input_tokens', input_tokens: 5 }));
    const counted = await post({ model: 'native', input: [item] }, { path: '/input_tokens' });
    expect([counted.status, JSON.stringify(sent())]).toEqual([200, expect.stringContaining(summary)]);
    const estimated = await post({ model: 'gpt', input: [item, user('x')] }, { path: '/input_tokens' });
    const { input_tokens: tokens } = (await estimated.json()) as { input_tokens: number };
    expect(tokens).toBeGreaterThan(30);
  });

  it('is refused if it was changed, or sealed for another tenant or by a retired key', async () => {
    const item = await compacted();
    const sealed = String(item['encrypted_content']);
    const refused = async (encrypted_content: string, principal: Partial<Principal> = ann) => {
      provider.answer();
      const input = [user('x'), { ...item, encrypted_content }];
      const response = await post({ model: 'native', input }, { principal });
      expect(provider.received).toHaveLength(0);
      return [response.status, ((await response.json()) as { error: Fields }).error];
    };
    const error = { code: 'invalid_encrypted_content', param: 'input[1].encrypted_content' };
    const last = sealed.at(-2) === 'A' ? 'B' : 'A';
    expect(await refused(`${sealed.slice(0, -2)}${last}${sealed.at(-1)}`)).toMatchObject([400, error]);
    expect(await refused(sealed.slice(0, 40))).toMatchObject([400, error]);
    expect(await refused(sealed, { tenantId: newId(), userId: 'ann' })).toMatchObject([400, error]);
    const retired = new SummarySeals(KeyRing.parse(newKeyRing('retired'))).seal(summary, tenantId);
    const advice = { ...error, message: expect.stringContaining('compact the conversation again') };
    expect(await refused(retired)).toMatchObject([400, advice]);
  });
});

describe('a server of responses without compaction', () => {
  const compact = (model: string): Promise<Response> =>
    post({ model, input: history, instructions: 'Be kind.' }, { path: '/compact' });
  const paths = (): string[] => provider.received.map(({ path }) => path);
  const written = whole(answerOf([messageItem(summary)]));

  it.each([404, 405])('with %d lets its model write the summary, and is asked once', async (status) => {
    const model = status === 404 ? 'without' : 'unknown';
    provider.answer(whole({ detail: 'Not Found' }, status), written);
    const first = await compact(model);
    const made = (await first.json()) as Fields & { output: Fields[] };
    expect([first.status, made]).toMatchObject([
      200,
      { object: 'response.compaction', usage: { input_tokens: expect.any(Number) } },
    ]);
    expect(made.output).toMatchObject([
      { type: 'message', role: 'user' },
      { type: 'compaction', encrypted_content: expect.stringMatching(/^gatehouse\.summary\./) },
    ]);
    expect(paths()).toEqual(['/responses/compact', '/responses']);
    expect(JSON.stringify(sent())).toMatch(/Find it\..*found it.*Summarise this conversation/);
    expect(await harness.endedRun(first.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'ok', usage_estimated: false, spans: [{ status: 'error' }, { status: 'ok' }] },
    });

    provider.answer(written);
    expect((await compact(model)).status).toBe(200);
    expect(paths()).toEqual(['/responses']);
    // The model goes on with it.
    provider.answer(whole(answerOf([messageItem('Here.')])));
    await answered({ model, input: made.output });
    expect(JSON.stringify(sent())).toContain(summary);
  });

  it.each([
    [400, { error: { message: "Invalid value: 'compaction_trigger'.", param: 'input[3]' } }],
    [422, { error: { message: 'input[3]: unknown type compaction_trigger' } }],
  ])('and with %d for its trigger streams a summary by its model', async (status, refusal) => {
    const model = status === 400 ? 'without' : 'unknown';
    const streaming = { model, input: [...history, trigger], tools, stream: true };
    const written = streamed(framesOf(eventsOf([messageItem(summary)])));
    provider.answer(whole(refusal, status), written);
    const first = await post(streaming);
    expect(await first.text()).toMatch(
      /"type":"compaction","encrypted_content":"gatehouse\.summary\.[^]*event: response\.completed/,
    );
    expect(provider.received).toHaveLength(2);
    expect(JSON.stringify(sent())).toMatch(/Find it\..*found it.*Summarise this conversation/);
    expect(await harness.endedRun(first.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'ok', spans: [{ status: 'error' }, { status: 'ok' }] },
    });

    provider.answer(written);
    expect(await (await post(streaming)).text()).toContain('gatehouse.summary.');
    expect(provider.received).toHaveLength(1);
  });

  it('is asked again if its model is missing, too', async () => {
    const missing = whole({ error: { message: 'no such model' } }, 404);
    for (let call = 0; call < 2; call += 1) {
      provider.answer(missing, missing);
      expect((await compact('elsewhere')).status).toBe(404);
      expect(paths()).toEqual(['/responses/compact', '/responses']);
    }
  });
});

describe("a provider's own compaction", () => {
  const own = { type: 'compaction', id: 'cmp_1', encrypted_content: 'enc' };

  it('passes to its provider as it is, and for others all before it does', async () => {
    provider.answer(streamed(framesOf(eventsOf([own]))));
    const streaming = { model: 'native', input: [...history, trigger], stream: true };
    const text = await (await post(streaming)).text();
    expect(text).toContain('"encrypted_content":"enc"');
    expect(sent()['input']).toEqual(streaming.input);
    const { response } = JSON.parse(
      text.split('event: response.completed\ndata: ')[1]?.split('\n')[0] ?? '',
    ) as { response: { id: string } };
    provider.answer(whole(answerOf([messageItem('x')])));
    const next = { previous_response_id: response.id, input: 'y' };
    await answered({ model: 'native', ...next });
    expect(sent()['input']).toEqual([user('Find it.'), own, user('y')]);

    provider.answer(whole(answerOf([messageItem('x')])));
    await answered({ model: 'elsewhere', ...next });
    expect(sent()['input']).toEqual([...history, user('y')]);
  });

  it('is left out for another API, and refused where nothing else is left', async () => {
    provider.answer(whole(completion({ content: 'x' })));
    const response = await post({ model: 'gpt', input: [user('x'), own] });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-gateway-ignored')).toBe('input.compaction');
    const refused = await post({ model: 'gpt', input: [own] });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { code: 'unsupported_parameter', param: 'input[0].type' } },
    ]);
  });
});
