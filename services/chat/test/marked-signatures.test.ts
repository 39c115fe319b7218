import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import type { ChatHarness } from './chat-harness.ts';
import { completion, type Fields } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';

/** Thoughts that translation has marked, as clients send them back. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [{ id: 'gpt', provider: 'simulator' }]);
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const question = { role: 'user', content: 'x' };

describe('a marked thought', () => {
  it('goes back for the tenant that got it, and is refused for another one', async () => {
    const called = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
    provider.answer(whole(completion({ reasoning_content: 'hm', tool_calls: [called] }, 'tool_calls')));
    const headers = { 'x-gatehouse-dialect': 'messages' };
    const principal = { tenantId: newId() };
    const asked = { model: 'gpt', max_tokens: 9, messages: [question] };
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'r' }] };
    const first = await harness.post('/v1/messages', asked, { headers, principal });
    const { content } = (await first.json()) as { content: Fields[] };
    expect(content).toMatchObject([
      { type: 'thinking', signature: expect.stringMatching(/^gatehouse\./) },
      {},
    ]);
    const next = { ...asked, messages: [question, { role: 'assistant', content }, result] };
    provider.answer(whole(completion({ content: 'y' })));
    expect((await harness.post('/v1/messages', next, { headers, principal })).status).toBe(200);
    expect(provider.received[0]?.body.toString()).toContain('"reasoning_content":"hm"');
    const other = await harness.post('/v1/messages', next, { headers, principal: { tenantId: newId() } });
    expect([other.status, await other.json()]).toMatchObject([
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: expect.stringMatching(/^Invalid `signature` in `thinking` block/),
        },
      },
    ]);
  });

  it.each([
    [
      'responses',
      '/v1/responses',
      { input: [{ type: 'reasoning', summary: [], encrypted_content: 'gatehouse.x' }], store: false },
      { error: { type: 'invalid_request_error', code: 'invalid_encrypted_content' } },
    ],
    [
      'gemini',
      '/v1beta/models/gpt:generateContent',
      { contents: [{ role: 'model', parts: [{ text: 'y', thoughtSignature: 'gatehouse.x' }] }] },
      { error: { code: 400, status: 'INVALID_ARGUMENT' } },
    ],
  ])('that was changed is refused in the words of %s', async (dialect, path, asked, error) => {
    const headers = { 'x-gatehouse-dialect': dialect };
    const response = await harness.post(path, { model: 'gpt', ...asked }, { headers });
    expect([response.status, await response.json()]).toMatchObject([400, error]);
  });
});
