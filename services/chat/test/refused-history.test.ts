import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { ChatHarness } from './chat-harness.ts';
import { answerOf, messageItem } from './response-answers.ts';
import { ScriptedProvider, streamed, whole, type Script } from './scripted-provider.ts';
import { completion, message } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Requests whose history a provider refuses, sent once more as it takes it; the words are the providers'. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [
    { id: 'responses', provider: 'simulator', api: 'responses' },
    { id: 'server', provider: 'simulator', upstream_model: 'some-server' },
    { id: 'claude', provider: 'quick', upstream_model: 'claude-x' },
  ]);
});
beforeEach(() => provider.answer());
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

let tenants = 0;
const newTenant = (): { tenantId: string } => {
  tenants += 1;
  return { tenantId: `01900000-0000-7000-8000-${String(tenants).padStart(12, '0')}` };
};
const sent = (): string[] => provider.received.map(({ body }) => body.toString());
const refusal = (message: string, status = 400): Script =>
  whole({ error: { message, code: null, type: 'invalid_request_error', param: null } }, status);
const answer = whole(completion({ role: 'assistant', content: 'Fine.' }));
const response = whole(answerOf([messageItem('Fine.')]));

const longId = `call_${'x'.repeat(80)}`;
const chat = {
  model: 'server',
  messages: [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: 'Look.' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: longId, type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: longId, content: 'x' },
    { role: 'user', content: 'Go on.' },
  ],
};
const items = {
  ...{ model: 'responses', store: false, include: ['reasoning.encrypted_content'] },
  input: [
    { type: 'message', id: 'chatcmpl-1', role: 'developer', content: 'Be brief.' },
    { type: 'custom_tool_call', id: 'fc_1', call_id: longId, name: 'p', input: 'x' },
    { type: 'custom_tool_call_output', call_id: longId, output: 'ok' },
    { role: 'user', content: 'Go on.' },
  ],
};

it.each([
  ['/v1/chat/completions', 'Tool call id was call_x but must be a-z, A-Z, 0-9, with a length of 9.', longId],
  [
    '/v1/chat/completions',
    "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 85 instead.",
    longId,
  ],
  [
    '/v1/chat/completions',
    'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.',
    '"arguments":"{}"}}]',
  ],
  ['/v1/chat/completions', "developer is not one of ['system', 'assistant', 'user', 'tool']", '"developer"'],
  [
    '/v1/responses',
    'messages[1].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`',
    '"developer"',
  ],
  [
    '/v1/responses',
    "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string with length 85 instead.",
    longId,
  ],
  ['/v1/responses', "Invalid 'input[1].id': 'fc_1'. Expected an ID that begins with 'ctc'.", '"fc_1"'],
])('of %s: %s', async (path, words, refusedText) => {
  const isChat = path.endsWith('completions');
  const principal = newTenant();
  const post = (): Promise<globalThis.Response> => {
    const dialect = isChat ? 'chat' : 'responses';
    return harness.post(path, isChat ? chat : items, {
      principal,
      headers: { 'x-gatehouse-dialect': dialect },
    });
  };
  const fine = isChat ? answer : response;
  provider.answer(refusal(words), fine, fine);
  expect((await post()).status).toBe(200);
  // It is remembered.
  expect((await post()).status).toBe(200);
  expect(sent().map((body) => body.includes(refusedText))).toEqual([true, false, false]);
});

it.each([
  [
    '/v1/chat/completions',
    'chat',
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    { messages: [chat.messages[1], chat.messages[2], chat.messages[4]] },
  ],
  [
    '/v1/responses',
    'responses',
    'No tool output found for function call c1.',
    { ...items, input: [{ type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }] },
  ],
  [
    '/v1/messages',
    'messages',
    'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.',
    {
      max_tokens: 9,
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] },
        { role: 'user', content: 'Go on.' },
      ],
    },
  ],
])('a call without a result gets one: %s', async (path, dialect, words, body) => {
  const answers: Record<string, Script> = {
    chat: answer,
    responses: response,
    messages: whole(message([{ type: 'text', text: 'Fine.' }])),
  };
  const refused =
    dialect === 'messages'
      ? whole({ type: 'error', error: { type: 'invalid_request_error', message: words } }, 400)
      : refusal(words);
  provider.answer(refused, answers[dialect] ?? answer);
  const models: Record<string, string> = { chat: 'server', responses: 'responses', messages: 'claude' };
  const headers = { 'x-gatehouse-dialect': dialect };
  const asked = { ...body, model: models[dialect] };
  expect((await harness.post(path, asked, { principal: newTenant(), headers })).status).toBe(200);
  expect(sent().map((text) => text.includes('No result.'))).toEqual([false, true]);
});

it('a translated request gets the same, and other tenants nothing of it', async () => {
  const words = "Unexpected role 'user' after role 'tool'";
  const roles = (): string[][] =>
    sent().map((body) => (JSON.parse(body) as typeof chat).messages.map(({ role }) => role));
  const messages = [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'Read', input: {} }] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' },
        { type: 'text', text: 'Go on.' },
      ],
    },
  ];
  const post = (principal: { tenantId: string }): Promise<globalThis.Response> =>
    harness.post(
      '/v1/messages',
      { model: 'server', max_tokens: 100, messages },
      { principal, headers: { 'x-gatehouse-dialect': 'messages' } },
    );
  provider.answer(refusal(words, 422), answer, answer);
  for (const tenant of [newTenant(), newTenant()]) expect((await post(tenant)).status).toBe(200);
  expect(roles()).toEqual([
    ['user', 'assistant', 'tool', 'user'],
    ['user', 'assistant', 'tool', 'assistant', 'user'],
    ['user', 'assistant', 'tool', 'user'],
  ]);
});

it('a second refusal is the error of the client', async () => {
  const words = 'Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.';
  provider.answer(refusal(words), refusal(words));
  const given = await harness.post('/v1/chat/completions', chat, { principal: newTenant() });
  expect([given.status, provider.received.length]).toEqual([400, 2]);
  expect(await given.text()).toContain('with a length of 9');
});

const conversation = [
  { role: 'assistant', content: 'Hello.' },
  { role: 'user', content: [{ type: 'text', text: 'Look' }] },
  { role: 'user', content: 'at it.' },
];
const rolesOf = (): string[][] =>
  sent().map((body) => (JSON.parse(body) as typeof chat).messages.map(({ role }) => role));

it.each([
  ['of a status', 500, 'System role not supported'],
  ['of a status', 400, 'Conversation roles must alternate user/assistant/user/assistant/...'],
])(
  'a conversation of the other API reaches a template, after a refusal %s %i',
  async (_of, status, words) => {
    const principal = newTenant();
    const body = { model: 'server', max_tokens: 100, system: 'Be brief.', messages: conversation };
    const post = (): Promise<globalThis.Response> =>
      harness.post('/v1/messages', body, { principal, headers: { 'x-gatehouse-dialect': 'messages' } });
    const alternate = 'Conversation roles must alternate user/assistant/user/assistant/...';
    const refused = status === 500 ? [refusal(words, status), refusal(alternate)] : [refusal(words)];
    provider.answer(...refused, answer, answer);
    expect((await post()).status).toBe(200);
    expect((await post()).status).toBe(200);
    const system = status === 500 ? [] : ['system'];
    const roles = [...system, 'user', 'assistant', 'user'];
    expect(rolesOf().slice(-2)).toEqual([roles, roles]);
  },
);

it.each([
  ['a status', { message: 'System role not supported', type: 'BadRequestError', code: 400 }],
  ['the name of one', { message: 'System role not supported', type: 'BadRequestError' }],
  ['a field', { message: 'System role not supported', param: 'messages' }],
  ['the status of a failure', { message: 'System role not supported', code: 500 }],
  ['a template alone', { message: 'System role not supported' }],
])('a stream that begins with a refusal of %s is sent once more', async (_name, error) => {
  const principal = newTenant();
  const body = {
    model: 'server',
    stream: true,
    messages: [{ role: 'system', content: 'S' }, ...conversation.slice(1)],
  };
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
  const frames = [
    {
      ...chunk,
      choices: [{ index: 0, delta: { role: 'assistant', content: 'Fine.' }, finish_reason: null }],
    },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ].map((data) => `data: ${JSON.stringify(data)}\n\n`);
  const fine = streamed([...frames, 'data: [DONE]\n\n']);
  provider.answer(streamed([`data: ${JSON.stringify({ error })}\n\n`, 'data: [DONE]\n\n']), fine);
  const headers = { 'x-gatehouse-dialect': 'chat' };
  const given = await harness.post('/v1/chat/completions', body, { principal, headers });
  expect([given.status, provider.received.length]).toEqual([200, 2]);
  const text = await given.text();
  expect([text.includes('Fine.'), text.includes('not supported')]).toEqual([true, false]);
  expect(rolesOf()).toEqual([
    ['system', 'user', 'user'],
    ['user', 'user', 'user'],
  ]);
  provider.answer(streamed([frames[0] ?? '', `data: ${JSON.stringify({ error })}\n\n`]), fine);
  const cut = await harness.post('/v1/chat/completions', body, { principal, headers });
  expect((await cut.text()).includes('Fine.')).toBe(true);
  expect(provider.received).toHaveLength(1);
});

it('half a character is replaced where it was refused, and always in translation', async () => {
  const text = 'cut \ud83d here';
  const principal = newTenant();
  const post = (path: string, dialect: string, body: object): Promise<globalThis.Response> =>
    harness.post(path, body, { principal, headers: { 'x-gatehouse-dialect': dialect } });
  const user = { role: 'user', content: text };
  provider.answer(
    answer,
    refusal('The request body is not valid JSON: no low surrogate in string: line 1 column 96 (char 95)'),
    answer,
    answer,
  );
  const translated = { model: 'server', input: [{ type: 'message', ...user }] };
  expect((await post('/v1/responses', 'responses', translated)).status).toBe(200);
  for (let call = 0; call < 2; call += 1) {
    const chat = { model: 'server', messages: [user] };
    expect((await post('/v1/chat/completions', 'chat', chat)).status).toBe(200);
  }
  expect(sent().map((body) => /cut (\S+) here/.exec(body)?.[1])).toEqual([
    ...['\\ufffd', '\\ud83d', '\\ufffd', '\\ufffd'],
  ]);
});
