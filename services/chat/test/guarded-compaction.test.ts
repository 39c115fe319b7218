import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ChatHarness } from './chat-harness.ts';
import { guardedUser } from './guarding.ts';
import { answerOf, messageItem } from './response-answers.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';
import { translatingHarness } from './translating-harness.ts';

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [
    { id: 'gpt', provider: 'simulator', api: 'responses', reasoning: false },
  ]);
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const mail = { type: 'message', role: 'user', content: 'Write to ann.lee@gmail.com, please.' };
const own = { type: 'compaction', id: 'cmp_1', encrypted_content: 'enc' };
const ways = [
  ['/v1/responses/compact', '/responses/compact', { input: [mail] }],
  ['/v1/responses', '/responses', { input: [mail, { type: 'compaction_trigger' }], store: false }],
] as const;

it.each(ways)(
  '%s gets a summary by Gatehouse while a guardrail may change texts',
  async (path, native, body) => {
    const compacted = async (principal: { tenantId: string; userId: string }): Promise<string> => {
      const headers = { 'x-gatehouse-dialect': 'responses' };
      const response = await harness.post(path, { model: 'gpt', ...body }, { principal, headers });
      expect(response.status).toBe(200);
      return response.text();
    };
    const received = () => provider.received.map(({ path: to, body: bytes }) => [to, bytes.toString()]);
    provider.answer(whole(answerOf([messageItem('A summary.')])));
    expect(await compacted(guardedUser(harness, { action: 'mask' }))).toContain('"gatehouse.summary.');
    expect(received()).toEqual([
      ['/responses', expect.stringMatching(/\[EMAIL\].*Summarise this conversation/)],
    ]);
    expect(received()[0]?.[1]).not.toContain('ann.lee');
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
    const compaction = {
      ...{ id: 'resp_1', object: 'response.compaction', created_at: 7 },
      output: [own],
      usage,
    };
    provider.answer(whole(native === '/responses' ? answerOf([own]) : compaction));
    expect(await compacted(guardedUser(harness, { action: 'flag' }))).toContain('"encrypted_content":"enc"');
    expect(received()).toEqual([[native, expect.stringContaining('ann.lee@gmail.com')]]);
  },
);
