import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import type { ChatHarness } from './chat-harness.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';
import { chunks, completion, type Fields } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Servers of chat completions with a signature beside their calls, as Google's has it, for clients of other APIs. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [
    { id: 'compatible', provider: 'simulator', upstream_model: 'gemini-3-pro' },
    { id: 'other', provider: 'simulator', upstream_model: 'some-server' },
  ]);
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const extra = { google: { thought_signature: 'c2ln' } };
const called = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content: extra };
const plain = { id: 'b', type: 'function', function: { name: 'f', arguments: '{}' } };
const turn = { content: 'Look.', tool_calls: [called, plain] };
const deltas = [
  { role: 'assistant', content: 'Look.' },
  { tool_calls: [{ index: 0, ...called }] },
  { tool_calls: [{ index: 1, ...plain }] },
];
const principal = { tenantId: newId() };
const post = async (path: string, dialect: string, body: Fields): Promise<string> => {
  const response = await harness.post(path, body, { principal, headers: { 'x-gatehouse-dialect': dialect } });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  return text;
};
const asked = { role: 'user', content: 'x' };
const items = (model: string, input: Fields[]): Fields => ({
  ...{ model, input: [asked, ...input], store: false, include: ['reasoning.encrypted_content'] },
});
/** The content beside the calls in the next request of the server. */
const back = (): unknown[] => {
  const { messages } = JSON.parse(provider.received.at(-1)?.body.toString() ?? '{}') as {
    messages: Fields[];
  };
  const calls = messages.flatMap(({ tool_calls: list }) => (list ?? []) as Fields[]);
  return calls.map(({ extra_content: content }) => content);
};
const results = ['a', 'b'].map((id) => ({ type: 'function_call_output', call_id: id, output: 'r' }));

it.each([false, true])('it comes back from a client of responses (streamed: %s)', async (stream) => {
  provider.answer(
    stream ? streamed(chunks(deltas, 'tool_calls')) : whole(completion(turn, 'tool_calls')),
    whole(completion({ content: 'y' })),
    whole(completion({ content: 'y' })),
  );
  const text = await post('/v1/responses', 'responses', { ...items('compatible', []), stream });
  const [last = text] = stream ? text.trim().split('data: ').slice(-1) : [];
  const parsed = JSON.parse(last) as Fields;
  const { output } = (stream ? parsed['response'] : parsed) as { output: Fields[] };
  expect(output.map(({ type }) => type)).toEqual(['message', 'reasoning', 'function_call', 'function_call']);
  await post('/v1/responses', 'responses', items('compatible', [...output, ...results]));
  expect(back()).toEqual([extra, undefined]);
  // It is of no use to another server.
  await post('/v1/responses', 'responses', items('other', [...output, ...results]));
  expect(back()).toEqual([undefined, undefined]);
});

it('it comes back from a client of messages', async () => {
  provider.answer(whole(completion(turn, 'tool_calls')), whole(completion({ content: 'y' })));
  const first = { model: 'compatible', max_tokens: 9, messages: [asked] };
  const { content } = JSON.parse(await post('/v1/messages', 'messages', first)) as { content: Fields[] };
  const given = ['a', 'b'].map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'r' }));
  const messages = [asked, { role: 'assistant', content }, { role: 'user', content: given }];
  await post('/v1/messages', 'messages', { ...first, messages });
  expect(back()).toEqual([extra, undefined]);
});

it('it comes back from a client of Gemini', async () => {
  provider.answer(whole(completion(turn, 'tool_calls')), whole(completion({ content: 'y' })));
  const path = '/v1beta/models/compatible:generateContent';
  const contents = [{ role: 'user', parts: [{ text: 'x' }] }];
  const answer = JSON.parse(await post(path, 'gemini', { contents })) as { candidates: Fields[] };
  const response = { name: 'f', response: { output: 'r' } };
  const given = { role: 'user', parts: [{ functionResponse: response }, { functionResponse: response }] };
  await post(path, 'gemini', { contents: [...contents, answer.candidates[0]?.['content'], given] });
  expect(back()).toEqual([extra, undefined]);
});

it('a stop for calls without one is the end of the answer', async () => {
  provider.answer(
    whole(completion({ content: 'Done.', tool_calls: [] }, 'tool_calls')),
    streamed(chunks([{ content: 'Done.' }], 'tool_calls')),
  );
  const body = { model: 'other', max_tokens: 9, messages: [asked] };
  for (const stream of [false, true])
    expect(await post('/v1/messages', 'messages', { ...body, stream })).toMatch(/"stop_reason": ?"end_turn"/);
});

it('two tools of a name are one', async () => {
  provider.answer(whole(completion({ content: 'y' })));
  const tool = (description: string): Fields => ({
    name: 'f',
    description,
    input_schema: { type: 'object' },
  });
  const body = { model: 'other', max_tokens: 9, messages: [asked], tools: [tool('One.'), tool('Two.')] };
  await post('/v1/messages', 'messages', body);
  const { tools } = JSON.parse(provider.received[0]?.body.toString() ?? '{}') as { tools: Fields[] };
  expect(tools).toMatchObject([{ function: { name: 'f', description: 'One.' } }]);
});

it('the item of a freeform call has an id of its type', async () => {
  const patch = { id: 'a', type: 'function', function: { name: 'patch', arguments: '{"input":"x"}' } };
  provider.answer(
    whole(completion({ tool_calls: [patch, plain] }, 'tool_calls')),
    streamed(chunks([{ tool_calls: [{ index: 0, ...patch }] }], 'tool_calls')),
  );
  const body = { ...items('other', []), tools: [{ type: 'custom', name: 'patch' }] };
  const { output } = JSON.parse(await post('/v1/responses', 'responses', body)) as { output: Fields[] };
  expect(output.map(({ id }) => String(id).split('_')[0])).toEqual(['ctc', 'fc']);
  const text = await post('/v1/responses', 'responses', { ...body, stream: true });
  const ids = new Set([...text.matchAll(/"(?:item_)?id":"((?!resp_)[^"]+)"/g)].map(([, id]) => id));
  expect([...ids]).toEqual([expect.stringMatching(/^ctc_/)]);
});
