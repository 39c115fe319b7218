import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { ChatHarness, makeAgent } from './chat-harness.ts';
import { ScriptedProvider, streamed, whole, type Script } from './scripted-provider.ts';
import { completion, message, messageEvents, type Fields } from './translated-answers.ts';

/** Fallbacks with the client's API that lack a form of the request which the first model has. */

let first: ScriptedProvider;
let second: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  [first, second] = [await ScriptedProvider.start(), await ScriptedProvider.start()];
  const at = (name: string, kind: string, { url }: ScriptedProvider) => ({
    ...{ name, kind, base_url: url, max_retries: 0, api_key_env: 'UNUSED' },
  });
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        at('one-anthropic', 'anthropic', first),
        at('two-anthropic', 'anthropic', second),
        at('one-openai', 'openai', first),
        at('two-openai', 'openai', second),
      ],
      models: [
        { id: 'claude-sonnet-4-5', provider: 'two-anthropic' },
        { id: 'claude-opus-5', provider: 'one-anthropic', fallbacks: ['claude-sonnet-4-5'] },
        { id: 'gpt-5', provider: 'two-openai' },
        { id: 'gpt-4.1', provider: 'one-openai', fallbacks: ['gpt-5'] },
      ],
      embeddings: undefined,
    },
  );
});
beforeEach(() => first.answer(whole({}, 500)));
afterAll(async () => {
  await harness.stop();
  first.stop();
  second.stop();
});

const refusal = (words: string): Script =>
  whole({ type: 'error', error: { type: 'invalid_request_error', message: words } }, 400);
const answer = whole(message([{ type: 'text', text: 'Four.' }]));
const request = {
  ...{ model: 'claude-opus-5', max_tokens: 9_000, thinking: { type: 'adaptive' } },
  messages: [
    { role: 'user', content: 'x' },
    { role: 'system', content: 'Mind.' },
    { role: 'user', content: 'y' },
  ],
};
const ask = (fields: object = {}): Promise<Response> =>
  harness.post('/v1/messages', { ...request, ...fields }, { headers: { 'x-gatehouse-dialect': 'messages' } });
const sentTo = ({ received }: ScriptedProvider): Fields[] =>
  received.map(({ body }) => JSON.parse(body.toString()) as Fields);
const rolesIn = ({ messages }: Fields): unknown[] => (messages as Fields[]).map(({ role }) => role);

it.each([false, true])('are asked once more in their own form (streamed: %s)', async (stream) => {
  second.answer(
    refusal('messages.1: role system is not supported'),
    stream ? streamed(messageEvents([{ type: 'text', text: 'Four.' }])) : answer,
  );
  const response = await ask({ stream });
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Four.')]);
  const [asWritten = {}, mended = {}] = sentTo(second);
  expect(rolesIn(sentTo(first)[0] ?? {})).toEqual(['user', 'system', 'user']);
  expect([rolesIn(asWritten), asWritten['thinking']]).toEqual([
    ['user', 'system', 'user'],
    { type: 'adaptive' },
  ]);
  expect([rolesIn(mended), mended['thinking']]).toMatchObject([['user'], { type: 'enabled' }]);
  expect(JSON.stringify(mended)).toContain('Mind.');
});

it.each([
  ['they refuse that, too', {}, 2],
  ['it can’t be expressed', { container: 'c_1' }, 1],
])('answer in their own words where %s', async (_, fields, calls) => {
  second.answer(refusal('one'), refusal('two'));
  const response = await ask(fields);
  expect([response.status, await response.json()]).toMatchObject([400, { error: { message: 'one' } }]);
  expect(second.received).toHaveLength(calls);
});

it('get the request as it is, and the first model no other', async () => {
  second.answer(answer);
  expect((await ask()).status).toBe(200);
  expect(sentTo(second)).toMatchObject([{ messages: request.messages }]);
  first.answer(refusal('one'));
  second.answer();
  expect((await ask()).status).toBe(400);
  expect([first.received.length, second.received.length]).toEqual([1, 0]);
});

it('of chat completions have other names and parameters', async () => {
  const refused = whole({ error: { message: "Unsupported parameter: 'max_tokens'", type: 'x' } }, 400);
  second.answer(refused, whole(completion({ content: 'Four.' })));
  const body = { model: 'gpt-4.1', max_tokens: 9, temperature: 0.5, messages: [request.messages[0]] };
  const response = await harness.post('/v1/chat/completions', body);
  expect([response.status, response.headers.get('x-gateway-ignored')]).toEqual([200, 'temperature']);
  expect(sentTo(second)[1]).toMatchObject({ max_completion_tokens: 9 });
  expect(sentTo(second)[1]).not.toHaveProperty('temperature');
});

it('are called again without what they refuse of it', async () => {
  second.answer(
    refusal('messages.1: role system is not supported'),
    refusal('messages.0: tool_use.id: String should match pattern'),
    answer,
  );
  expect((await ask()).status).toBe(200);
  expect(second.received).toHaveLength(3);
});

it('are asked in their own form from then on in the calls of an agent', async () => {
  harness.agents.set(
    'worker',
    makeAgent({ key: 'worker', model: request.model, tools: { maxIterations: 4 } }),
  );
  harness.toolLists.tools = [
    {
      ...{ name: 'lookup', description: 'Looks up.', schemaJson: '{"type":"object"}', tool: 'lookup' },
      ...{ serverId: 's', timeoutMs: 1_000, executor: 'agent', repeatable: true },
    },
  ];
  const call = { type: 'tool_use', id: 'toolu_1', name: 'lookup', input: {} };
  second.answer(
    refusal('messages.1: role system is not supported'),
    whole(message([call], { stop_reason: 'tool_use' })),
    answer,
  );
  const response = await ask({ model: 'agent:worker' });
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Four.')]);
  expect(sentTo(second).map((body) => rolesIn(body).includes('system'))).toEqual([true, false, false]);
});
