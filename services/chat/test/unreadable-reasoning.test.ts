import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { ChatHarness } from './chat-harness.ts';
import { answerOf, messageItem } from './response-answers.ts';
import { ScriptedProvider, whole, type Script } from './scripted-provider.ts';
import { answers, message, type Fields } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Threads with reasoning that no account of the provider can read. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [
    { id: 'responses', provider: 'simulator', api: 'responses' },
    { id: 'claude', provider: 'quick', upstream_model: 'claude-sonnet-4-5', max_output_tokens: 9000 },
    { id: 'gemini', provider: 'wrongkey', upstream_model: 'gemini-3-pro' },
  ]);
});
beforeEach(() => provider.answer());
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

let tenants = 0;
const newTenant = (): string => {
  tenants += 1;
  return `01900000-0000-7000-8000-0000000002${String(tenants).padStart(2, '0')}`;
};
const texts = (): string[] => provider.received.map(({ body }) => body.toString());
const sends = (...signatures: string[]): boolean[][] =>
  texts().map((text) => signatures.map((signature) => text.includes(signature)));
const refusal = (message: string, code: string | null = null): Script =>
  whole({ error: { message, code, type: 'invalid_request_error', param: null } }, 400);
const googleRefusal = (message: string): Script =>
  whole({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }, 400);
const unreadable = refusal(
  'The encrypted content gAAA... could not be verified.',
  'invalid_encrypted_content',
);
const done = whole(answerOf([messageItem('Fine.')]));

const user = { role: 'user', content: 'One.' };
const reasoning = (signature: string): Fields => ({
  ...{ type: 'reasoning', id: `rs_${signature}`, summary: [] },
  encrypted_content: signature,
});
const respond = (
  input: readonly unknown[],
  { model = 'responses', tenantId = newTenant(), more = {} } = {},
): Promise<globalThis.Response> =>
  harness.post(
    '/v1/responses',
    { model, store: false, include: ['reasoning.encrypted_content'], input, ...more },
    { principal: { tenantId }, headers: { 'x-gatehouse-dialect': 'responses' } },
  );

it('a thread goes on without it, and keeps what the model thinks from then on', async () => {
  const tenantId = newTenant();
  const first = [user, reasoning('gAAAone'), user, reasoning('gAAAtwo'), user];
  provider.answer(unreadable, done, done, done);
  const response = await respond(first, { tenantId });
  expect([response.status, response.headers.get('x-gateway-ignored')]).toEqual([
    200,
    expect.stringContaining('reasoning'),
  ]);
  const { spans } = await harness.endedRun(response.headers.get('x-run-id'));
  expect(spans.map(({ status }) => status)).toEqual(['error', 'ok']);
  const next = await respond([...first, reasoning('gAAAnew'), user], { tenantId });
  expect([next.status, next.headers.get('x-gateway-ignored')]).toEqual([
    200,
    expect.stringContaining('reasoning'),
  ]);
  const other = await respond(first);
  expect([other.status, other.headers.get('x-gateway-ignored')]).toEqual([200, null]);
  expect(sends('gAAAone', 'gAAAtwo', 'gAAAnew')).toEqual([
    [true, true, false],
    [false, false, false],
    [false, false, true],
    [true, true, false],
  ]);
});

it('newer reasoning that the provider cannot read either is left out as well', async () => {
  const tenantId = newTenant();
  provider.answer(unreadable, done, unreadable, done);
  await respond([user, reasoning('gAAAone'), user], { tenantId });
  expect(
    (await respond([user, reasoning('gAAAone'), user, reasoning('gAAAtwo'), user], { tenantId })).status,
  ).toBe(200);
  expect(sends('gAAAone', 'gAAAtwo')).toEqual([
    [true, false],
    [false, false],
    [false, true],
    [false, false],
  ]);
});

it('a second refusal is the error of the client, and so is one of a request without reasoning', async () => {
  for (const [input, calls] of [
    [[user, reasoning('gAAAone'), user], 2],
    [[user], 1],
  ] as const) {
    provider.answer(unreadable, unreadable);
    const response = await respond(input);
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('invalid_encrypted_content'),
    ]);
    expect(provider.received).toHaveLength(calls);
  }
});

it.each([
  ['Could not decrypt the provided encrypted_content. Ensure the value is unmodified.', 'invalid-argument'],
  ['Could not decode the compaction blob. Ensure it is unmodified from the compact response.', null],
  ['Encrypted content could not be decrypted or parsed, and could not be verified.', null],
])('a server of responses may say: %s', async (words, code) => {
  provider.answer(refusal(words, code), done);
  expect((await respond([user, reasoning('gAAAone'), user])).status).toBe(200);
  expect(sends('gAAAone')).toEqual([[true], [false]]);
});

const parts = (thoughtSignature: string): unknown[] => [
  { role: 'user', parts: [{ text: 'Look.' }] },
  { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature }] },
  { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: '1' } } }] },
];
const generate = (contents: unknown[], tenantId: string): Promise<globalThis.Response> =>
  harness.post(
    '/v1beta/models/gemini:generateContent',
    { contents },
    { principal: { tenantId }, headers: { 'x-gatehouse-dialect': 'gemini' } },
  );

it.each([
  'Corrupted thought signature.',
  'Invalid thought signature.',
  'Unable to submit request because Thought signature is not valid.. Learn more: https://cloud.google.com/',
  'Invalid value at \'contents[1].parts[0].thought_signature\' (TYPE_BYTES), Base64 decoding failed for "b2xk"',
])("a client of Google's API goes on, once and from then on, after: %s", async (words) => {
  const tenantId = newTenant();
  provider.answer(googleRefusal(words), whole(answers['flash']), whole(answers['flash']));
  const old = parts(Buffer.from('old thought').toString('base64'));
  const newer = parts(Buffer.from('new thought').toString('base64'));
  const response = await generate(old, tenantId);
  expect([response.status, response.headers.get('x-gateway-ignored')]).toEqual([
    200,
    expect.stringContaining('reasoning'),
  ]);
  expect((await generate([...old, ...newer], tenantId)).status).toBe(200);
  const [one, two] = ['old thought', 'new thought'].map((text) => Buffer.from(text).toString('base64'));
  expect(sends(one ?? '', two ?? '', 'skip_thought_signature_validator')).toEqual([
    [true, false, false],
    [false, false, true],
    [false, true, true],
  ]);
});

const claudeAnswer = message([
  { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVkLWJ5LWNsYXVkZQ==' },
  { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
]);
const geminiAnswer = {
  ...answers['flash'],
  candidates: [
    {
      content: {
        role: 'model',
        parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'c2lnbmVkLWJ5LWdvb2dsZQ==' }],
      },
      finishReason: 'STOP',
    },
  ],
};
const invalid = (words: string): Script =>
  whole({ type: 'error', error: { type: 'invalid_request_error', message: words } }, 400);

it.each([
  [
    'claude',
    claudeAnswer,
    'c2lnbmVkLWJ5LWNsYXVkZQ==',
    invalid('messages.1.content.0: Invalid `signature` in `thinking` block'),
  ],
  [
    'claude',
    claudeAnswer,
    'c2lnbmVkLWJ5LWNsYXVkZQ==',
    invalid(
      'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
    ),
  ],
  ['gemini', geminiAnswer, 'c2lnbmVkLWJ5LWdvb2dsZQ==', googleRefusal('Corrupted thought signature.')],
])('Codex at %s goes on without marked reasoning, also later', async (model, signed, signature, refused) => {
  const tenantId = newTenant();
  const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }];
  const more = { tools, reasoning: { effort: 'high' } };
  provider.answer(whole(signed), refused, whole(signed), whole(signed));
  const first = await respond([user], { model, tenantId, more });
  const { output } = (await first.json()) as { output: Fields[] };
  const called = output.find(({ type }) => type === 'function_call');
  const turn = [user, ...output, { type: 'function_call_output', call_id: called?.['call_id'], output: '1' }];
  const second = await respond(turn, { model, tenantId, more });
  expect([second.status, second.headers.get('x-gateway-ignored')]).toEqual([
    200,
    expect.stringContaining('reasoning'),
  ]);
  expect((await respond([...turn, user], { model, tenantId, more })).status).toBe(200);
  expect(sends(signature)).toEqual([[false], [true], [false], [false]]);
});

it('a client of messages mends its own thread by the words of Claude', async () => {
  const words = 'messages.1.content.0: Invalid `signature` in `thinking` block';
  const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' };
  const messages = [user, { role: 'assistant', content: [thinking, { type: 'text', text: 'b' }] }, user];
  provider.answer(invalid(words));
  const response = await harness.post(
    '/v1/messages',
    { model: 'claude', max_tokens: 100, messages },
    { principal: { tenantId: newTenant() }, headers: { 'x-gatehouse-dialect': 'messages' } },
  );
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(words)]);
  expect(provider.received).toHaveLength(1);
});
