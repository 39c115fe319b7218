import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { ChatHarness } from './chat-harness.ts';
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
    { id: 'server', provider: 'simulator', upstream_model: 'some-server' },
    { id: 'kimi', provider: 'simulator', upstream_model: 'kimi-k2.5' },
  ]);
});
beforeEach(() => provider.answer());
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

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
