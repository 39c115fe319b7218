import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { ChatHarness } from './chat-harness.ts';
import { answerOf, messageItem } from './response-answers.ts';
import { ScriptedProvider, whole, type Script } from './scripted-provider.ts';
import { completion } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Requests that a provider refuses for their reasoning, sent once more. */

const principal = { tenantId: '01900000-0000-7000-8000-000000000002' };

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [
    { id: 'responses', provider: 'simulator', api: 'responses' },
    { id: 'server', provider: 'simulator', upstream_model: 'some-server' },
    { id: 'kimi', provider: 'simulator', upstream_model: 'kimi-k2.5' },
  ]);
});
beforeEach(() => provider.answer());
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const tenantOf = (number: number): string => `01900000-0000-7000-8000-00000000010${number}`;
const sent = (): Record<string, unknown>[] =>
  provider.received.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>);
const refusal = (message: string, code: string | null = null): Script =>
  whole({ error: { message, code, type: 'invalid_request_error', param: null } }, 400);
const history = [
  { role: 'user', content: 'Look.' },
  { role: 'assistant', content: [{ type: 'text', text: 'Hm.' }] },
  { role: 'user', content: 'Go on.' },
  { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'Read', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }] },
];
const ask = (model: string, tenantId = principal.tenantId): Promise<globalThis.Response> =>
  harness.post(
    '/v1/messages',
    { model, max_tokens: 100, messages: history },
    { principal: { tenantId }, headers: { 'x-gatehouse-dialect': 'messages' } },
  );
const filled = (): unknown[][] =>
  sent().map(({ messages }) =>
    (messages as Record<string, unknown>[])
      .filter(({ role }) => role === 'assistant')
      .map((message) => message['reasoning_content']),
  );
const answer = whole(completion({ role: 'assistant', content: 'Fine.' }));

it('calls of another model get an empty text for a model known to want one', async () => {
  provider.answer(answer);
  expect((await ask('kimi')).status).toBe(200);
  expect(filled()).toEqual([[undefined, '']]);
});

it('a server that wants reasoning gets as much as it asks for, also later, and for this tenant alone', async () => {
  const missing = refusal(
    'thinking is enabled but reasoning_content is missing in assistant message at index 1',
  );
  provider.answer(missing, missing, missing, answer, answer, answer);
  for (let call = 0; call < 2; call += 1) expect((await ask('server')).status).toBe(200);
  expect((await ask('server', '01900000-0000-7000-8000-000000000003')).status).toBe(200);
  expect(filled()).toEqual([
    [undefined, undefined],
    [undefined, ''],
    ['', ''],
    [' ', ' '],
    [' ', ' '],
    [undefined, undefined],
  ]);
});

/** Holds the first requests until all of them are there, then answers as a server that wants reasoning. */
function strictOnce(count: number, isEnough: (filled: unknown[]) => boolean, refused: Script): Script {
  let held: (() => void)[] | null = [];
  return (request) => {
    const { messages } = JSON.parse(request.body.toString()) as { messages: Record<string, unknown>[] };
    const texts = messages
      .filter(({ role }) => role === 'assistant')
      .map((each) => each['reasoning_content']);
    const send = (): unknown => (isEnough(texts) ? answer : refused)(request);
    if (held === null) return send();
    held.push(send);
    if (held.length < count) return null;
    for (const each of held) each();
    held = null;
    return null;
  };
}

it('requests at the same time all go on, each with as many calls as alone', async () => {
  const count = 24;
  const refused = refusal('Missing `reasoning_content` field in the assistant message at message index 1');
  const script = strictOnce(count, (texts) => texts.every((text) => text === ' '), refused);
  provider.answer(...Array.from({ length: 4 * count + 1 }, () => script));
  const tenantId = '01900000-0000-7000-8000-000000000004';
  const responses = await Promise.all(Array.from({ length: count }, () => ask('server', tenantId)));
  expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: count }, () => 200));
  expect(provider.received.length).toBeLessThanOrEqual(4 * count);
  provider.answer(answer);
  expect((await ask('server', tenantId)).status).toBe(200);
});

const chatTurns = (messages: string, model = 'server'): string =>
  `{"model":"${model}", "messages":[${messages}],"temperature":0.70}`;
const chat = (body: string, tenantId: string): Promise<globalThis.Response> =>
  harness.post('/v1/chat/completions', body, { principal: { tenantId } });
const texts = (): string[] => provider.received.map(({ body }) => body.toString());
const missing = refusal('The `reasoning_content` in the thinking mode must be passed back to the API.');
const calls = '[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]';
const result = '{"role":"tool","tool_call_id":"c1","content":"1"}';

it('a client of chat completions goes on with its own bytes, and an empty text where reasoning is missing', async () => {
  const assistant = (more: string): string =>
    `{"role":"assistant","content":null,"tool_calls":${calls}${more}}`;
  const messages = (more: string): string =>
    `{"role":"user","content":"Hi \\u0041"},${assistant(more)},${result},{"role":"assistant","content":"b"}`;
  provider.answer(missing, answer, answer, answer);
  for (let turn = 0; turn < 2; turn += 1)
    expect((await chat(chatTurns(messages('')), tenantOf(1))).status).toBe(200);
  expect((await chat(chatTurns(messages('')), tenantOf(2))).status).toBe(200);
  const bytes = (more: string): string => chatTurns(messages(more), 'some-server');
  const filledIn = bytes(',"reasoning_content":""');
  expect(texts()).toEqual([bytes(''), filledIn, filledIn, bytes('')]);
});

it('reasoning of the model itself stays, and null is no reasoning', async () => {
  const turn = (reasoning: string): string =>
    `{"role":"assistant","reasoning_content":${reasoning},"tool_calls":${calls}},${result}`;
  const plain = '{"role":"assistant","content":"b","tool_calls":[]}';
  const messages = `{"role":"user","content":"a"},${turn('"Hm."')},${turn('null')},${plain}`;
  provider.answer(missing, missing, missing, answer);
  expect((await chat(chatTurns(messages), tenantOf(3))).status).toBe(200);
  const reasoning = sent().map(({ messages: list }) =>
    (list as Record<string, unknown>[])
      .filter(({ role }) => role === 'assistant')
      .map((message) => message['reasoning_content']),
  );
  expect(reasoning).toEqual([
    ['Hm.', null, undefined],
    ['Hm.', '', undefined],
    ['Hm.', '', ''],
    ['Hm.', ' ', ' '],
  ]);
});

it.each([
  "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
  "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported",
])('reasoning of another model is left out where a server refuses it: %s', async (words) => {
  const tenantId = tenantOf(words.startsWith('m') ? 4 : 5);
  const messages = (more: string): string =>
    `{"role":"user","content":"a"},{"role":"assistant"${more},"content":"b"},{"role":"user","content":"c"}`;
  provider.answer(refusal(words, 'wrong_api_format'), answer, answer);
  const body = chatTurns(messages(',"reasoning_content":"Hm."'));
  for (let turn = 0; turn < 2; turn += 1) expect((await chat(body, tenantId)).status).toBe(200);
  expect(texts()).toEqual(
    [body, chatTurns(messages('')), chatTurns(messages(''))].map((text) =>
      text.replace('"server"', '"some-server"'),
    ),
  );
});

it('the refusal of a server that wants more than can be filled in is the error of the client', async () => {
  provider.answer(missing, missing, missing, missing);
  const response = await chat(chatTurns('{"role":"assistant","content":"b"}'), tenantOf(6));
  expect([response.status, await response.text()]).toEqual([
    400,
    expect.stringContaining('must be passed back'),
  ]);
  expect(provider.received).toHaveLength(4);
});

const items = [
  { role: 'user', content: 'Look.' },
  { type: 'reasoning', summary: [], encrypted_content: 'gAAAother' },
  { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
  { type: 'function_call', call_id: 'c2', name: 'f', arguments: '{}' },
  ...['c1', 'c2'].map((call_id) => ({ type: 'function_call_output', call_id, output: '1' })),
  { role: 'assistant', content: 'Done.' },
  { role: 'user', content: 'Go on.' },
];
const respondTo = (model: string, input: unknown[], tenantId: string): Promise<globalThis.Response> =>
  harness.post(
    '/v1/responses',
    { model, store: false, include: ['reasoning.encrypted_content'], input },
    { principal: { tenantId }, headers: { 'x-gatehouse-dialect': 'responses' } },
  );

it('a client of responses gets an empty text at Kimi, too', async () => {
  provider.answer(answer);
  expect((await respondTo('kimi', items, tenantOf(7))).status).toBe(200);
  expect(filled()).toEqual([['', undefined]]);
});

it('a server of responses gets an empty item of reasoning where it wants one', async () => {
  const refused = refusal(
    'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
  );
  const input = items.filter(({ type }) => type !== 'reasoning');
  const done = whole(answerOf([messageItem('Fine.')]));
  provider.answer(refused, done, refused, refused, done);
  const response = await respondTo('responses', input, tenantOf(8));
  expect(response.status).toBe(200);
  const empty = (text: string): unknown => ({
    ...{ type: 'reasoning', summary: [] },
    content: [{ type: 'reasoning_text', text }],
  });
  expect(sent().map(({ input: list }) => list)).toEqual([input, [input[0], empty(''), ...input.slice(1)]]);
  // From here on all turns have one, as the next refusals want it.
  provider.received.length = 0;
  expect((await respondTo('responses', input, tenantOf(8))).status).toBe(200);
  expect(sent().at(-1)?.['input']).toEqual([
    input[0],
    empty(' '),
    ...input.slice(1, 5),
    empty(' '),
    ...input.slice(5),
  ]);
});

it('a client of another API gets the same at a server of responses', async () => {
  const done = whole(answerOf([messageItem('Fine.')]));
  provider.answer(missing, done);
  expect((await ask('responses', tenantOf(9))).status).toBe(200);
  const types = sent().map(({ input }) => (input as Record<string, unknown>[]).map(({ type }) => type));
  expect(types).toEqual([
    ['message', 'message', 'message', 'function_call', 'function_call_output'],
    ['message', 'message', 'message', 'reasoning', 'function_call', 'function_call_output'],
  ]);
});
