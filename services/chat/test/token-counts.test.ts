import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import type { ChatHarness } from './chat-harness.ts';
import { countersOf } from './counters-of.ts';
import { ScriptedProvider, whole, type ReceivedRequest } from './scripted-provider.ts';
import { chunks, completion } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Tokens that the provider does not report are counted in a child process, which nothing else starts. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [
    { id: 'gpt', provider: 'simulator', max_output_tokens: 900 },
  ]);
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const times = (count: number) => Array.from({ length: count }, (_, index) => index);
const messages = [{ role: 'user', content: 'tiktoken is great!' }];
const completions = '/v1/chat/completions';

it('usage that the provider reports starts no process', async () => {
  provider.answer(...times(50).map(() => whole(completion({ content: 'Four.' }))));
  const load = times(50).map(() => harness.post(completions, { model: 'gpt', messages }));
  for (const response of await Promise.all(load))
    expect(await response.json()).toMatchObject({ usage: { total_tokens: 15 } });
  expect(countersOf(process.pid)).toEqual([]);
});

it('every run of a flood of clients that leave ends, with estimates', async () => {
  const text = 'portcullis portcullis';
  const [frame = ''] = chunks([{ role: 'assistant', content: text }]);
  const count = 500;
  provider.answer(
    ...times(count).map(() => ({ response }: ReceivedRequest) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(frame);
    }),
  );
  const leave = new AbortController();
  const flood = times(count).map(async () => {
    const body = { model: 'gpt', messages, stream: true };
    const response = await harness.post(completions, body, { signal: leave.signal });
    expect(response.status).toBe(200);
    const reader = response.body?.getReader();
    await reader?.read();
    return reader;
  });
  await Promise.all(flood);
  leave.abort();
  await eventually(async () => {
    const runs = await harness.endedRuns(`data::json ->> 'status' = 'cancelled'`);
    expect(runs).toHaveLength(count);
    expect(new Set(runs.map((run) => run.usage_estimated))).toEqual(new Set([true]));
    expect(new Set(runs.map((run) => run.input_tokens)).size).toBe(1);
  }, 60_000);
  expect(countersOf(process.pid)).toHaveLength(1);
}, 120_000);
