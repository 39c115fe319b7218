import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import type { ChatHarness } from './chat-harness.ts';
import { countersOf } from './counters-of.ts';
import type { EndedRun } from '../src/runs/run-record.ts';
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

it('a last byte does not wait for a process that stands still', async () => {
  const before = countersOf(process.pid);
  const replica = await harness.startReplica({ countWaitMs: 50 });
  const url = `http://127.0.0.1:${replica.httpPort}`;
  const [frame = ''] = chunks([{ role: 'assistant', content: 'Four.' }]);
  const send = async (): Promise<EndedRun> => {
    provider.answer(({ response }: ReceivedRequest) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`${frame}data: [DONE]\n\n`);
    });
    const response = await harness.post(completions, { model: 'gpt', messages, stream: true }, { url });
    expect(await response.text()).toContain('Four.');
    return harness.endedRun(response.headers.get('x-run-id'));
  };
  const started = await eventually(async () => {
    await send();
    const pid = countersOf(process.pid).find((each) => !before.includes(each));
    if (pid === undefined) throw new Error('no process counts');
    return pid;
  });
  process.kill(started, 'SIGSTOP');
  try {
    // Five bytes.
    expect(await send()).toMatchObject({ status: 'ok', usage_estimated: true, output_tokens: 2 });
  } finally {
    process.kill(started, 'SIGCONT');
  }
});
