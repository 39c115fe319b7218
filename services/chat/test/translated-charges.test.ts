import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ChatHarness } from './chat-harness.ts';
import { chunks, completion, message, messageEvents, type Fields } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';

/** Answers that were paid for, and don't reach the client as they are. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const price = { input_per_mtok: '1', output_per_mtok: '2' };
  harness = await translatingHarness(provider, [
    { id: 'gpt', provider: 'simulator', fallbacks: ['claude'], price },
    { id: 'claude', provider: 'quick', max_output_tokens: 9_000, price },
    { id: 'claude-first', provider: 'quick', max_output_tokens: 9_000, price, fallbacks: ['gpt'] },
  ]);
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const headers = { 'x-gatehouse-dialect': 'messages' };
const messages = [{ role: 'user', content: 'x' }];

it('a whole answer that is too large to be translated is charged as reported, and no other model is called', async () => {
  const large = completion({ content: 'x'.repeat(13_000_000) });
  provider.answer(whole(large), whole(message([{ type: 'text', text: 'again' }])));
  const response = await harness.post('/v1/messages', { model: 'gpt', max_tokens: 9, messages }, { headers });
  expect([response.status, await response.json()]).toMatchObject([
    502,
    { error: { details: { error_code: 'provider_invalid_response' } } },
  ]);
  expect(provider.received).toHaveLength(1);
  expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
    ...{ status: 'error', input_tokens: 10, cached_input_tokens: 4, output_tokens: 5 },
    ...{ usage_estimated: false, error_type: 'provider_invalid_response' },
  });
});

it('a model that cannot express a request is in the trace as passed over, and costs nothing', async () => {
  provider.answer(whole(completion({ content: 'x' })));
  const asked = { model: 'claude-first', n: 2, messages };
  const response = await harness.post('/v1/chat/completions', asked, {
    headers: { 'x-gatehouse-dialect': 'chat' },
  });
  expect(response.headers.get('x-gateway-model')).toBe('gpt');
  const run = await harness.endedRun(response.headers.get('x-run-id'));
  expect(run).toMatchObject({ status: 'ok', provider: 'simulator', input_tokens: 10 });
  expect(run['spans']).toMatchObject([
    { model: 'gpt', status: 'ok' },
    { model: 'claude-first', status: 'not_sent', error_code: 'unsupported_parameter' },
  ]);
  const alone = await harness.post(
    '/v1/chat/completions',
    { ...asked, model: 'claude' },
    {
      headers: { 'x-gatehouse-dialect': 'chat' },
    },
  );
  expect([alone.status, alone.headers.get('x-run-id')]).toEqual([400, null]);
});

it('a conversation of a client without a word for caches is cached, and its writes have a price', async () => {
  const usage = {
    input_tokens: 10,
    cache_creation_input_tokens: 1_000,
    cache_read_input_tokens: 2_000,
    output_tokens: 5,
  };
  provider.answer(whole({ ...message([{ type: 'text', text: 'Fine.' }]), usage }));
  const talk = ['Hello?', 'Hello.', 'Again?'].map((content, index) => ({
    ...{ role: index === 1 ? 'assistant' : 'user', content },
  }));
  const response = await harness.post(
    '/v1/chat/completions',
    { model: 'claude', messages: [{ role: 'system', content: 'Be kind.' }, ...talk] },
    { headers: { 'x-gatehouse-dialect': 'chat' } },
  );
  const cache_control = { type: 'ephemeral' };
  expect(JSON.parse(String(provider.received.at(-1)?.body))).toMatchObject({
    system: [{ text: 'Be kind.', cache_control }],
    messages: [{ content: [{ text: 'Hello?' }] }, { content: [{ text: 'Hello.', cache_control }] }, {}],
  });
  expect(response.headers.get('x-gateway-ignored')).toBeNull();
  expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
    ...{ input_tokens: 3_010, cached_input_tokens: 2_000, cache_write_tokens: 1_000, output_tokens: 5 },
    ...{ priced: true, cost_pico: '1470000000' },
  });
});

describe('a call that is held until it is complete, in a stream that the provider cuts', () => {
  const words = Array.from({ length: 2_000 }, (_, index) => `word${index} `).join('');
  const begun = chunks([
    { role: 'assistant', content: '' },
    {
      tool_calls: [
        { index: 0, id: 'call_1', type: 'function', function: { name: 'save', arguments: '{"input":"' } },
      ],
    },
    { tool_calls: [{ index: 0, function: { arguments: words } }] },
  ]).slice(0, 3);

  it.each([
    [
      'gemini',
      '/v1beta/models/gpt:streamGenerateContent?alt=sse',
      {
        contents: [{ role: 'user', parts: [{ text: 'x' }] }],
        tools: [{ functionDeclarations: [{ name: 'save' }] }],
      },
    ],
    [
      'responses',
      '/v1/responses',
      { model: 'gpt', stream: true, input: 'x', tools: [{ type: 'custom', name: 'save' }] },
    ],
    [
      'messages',
      '/v1/messages',
      {
        ...{ model: 'gpt', stream: true, max_tokens: 9, messages },
        tools: [{ name: 'save', input_schema: { type: 'object' } }],
      },
    ],
  ])('is charged by what came of it (%s)', async (dialect, path, body: Fields) => {
    provider.answer(
      streamed(begun, { cut: true }),
      streamed(messageEvents([{ type: 'text', text: 'Four.' }])),
    );
    const asked = { headers: { 'x-gatehouse-dialect': dialect } };
    const response = await harness.post(path, body, asked);
    await response.text();
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    expect(run['output_tokens']).toBeGreaterThan(2_000);
    expect(run).toMatchObject({ usage_estimated: true });
  });
});
