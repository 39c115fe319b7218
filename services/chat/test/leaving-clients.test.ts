import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import type { ChatHarness } from './chat-harness.ts';
import { eventsOf, framesOf, messageItem, thought } from './response-answers.ts';
import { ScriptedProvider, whole, type Script } from './scripted-provider.ts';
import { answers, chunks, messageEvents, type Fields } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Clients that leave after the last text and before the usage, which they have to pay for. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, models);
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const price = { input_per_mtok: '1', output_per_mtok: '2' };
const models = [
  { id: 'gpt', provider: 'simulator', max_output_tokens: 90_000, price },
  { id: 'small', provider: 'simulator', max_output_tokens: 8_192, price },
  { id: 'unlimited', provider: 'simulator', price },
  { id: 'claude', provider: 'quick', max_output_tokens: 90_000, price },
  { id: 'gpt-responses', provider: 'simulator', api: 'responses', max_output_tokens: 90_000, price },
  { id: 'flash', provider: 'wrongkey', max_output_tokens: 90_000, price },
];
const messages = [{ role: 'user', content: 'x' }];
const asked: Readonly<Record<string, (model: string) => [path: string, body: Fields]>> = {
  chat: (model) => ['/v1/chat/completions', { model, messages, stream: true }],
  responses: (model) => ['/v1/responses', { model, input: 'x', stream: true }],
  messages: (model) => ['/v1/messages', { model, max_tokens: 90_000, messages, stream: true }],
  gemini: (model) => [
    `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
  ],
};

const text = 'portcullis portcullis';
const usage = { promptTokenCount: 10, candidatesTokenCount: 2, thoughtsTokenCount: 100_000 };
const geminiFrame = (fields: Fields): string =>
  `data: ${JSON.stringify({ modelVersion: 'gemini-x', ...fields })}\n\n`;
const said = { content: { role: 'model', parts: [{ text }] }, index: 0 };

/** The frames of each API, the last `end` of which have the usage, which is `output`. */
const streams: Readonly<Record<string, { frames: string[]; end: number; output: number }>> = {
  gpt: { frames: chunks([{ role: 'assistant', content: text }]), end: 2, output: 5 },
  claude: { frames: messageEvents([{ type: 'text', text }]), end: 2, output: 5 },
  'gpt-responses': { frames: framesOf(eventsOf([thought('rs_1'), messageItem(text)])), end: 1, output: 6 },
  flash: {
    frames: [
      geminiFrame({ candidates: [said] }),
      geminiFrame({ candidates: [{ finishReason: 'STOP', index: 0 }] }),
      geminiFrame({ usageMetadata: usage }),
    ],
    ...{ end: 1, output: 100_002 },
  },
};
const pairs = Object.keys(asked).flatMap((dialect) => Object.keys(answers).map((model) => [dialect, model]));

/** Sends all but the last frames, and these once `left` has resolved. */
const ending =
  (model: string, left: Promise<unknown>): Script =>
  async ({ response }) => {
    const { frames = [], end = 0 } = streams[model] ?? {};
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frames.slice(0, -end).join(''));
    await left;
    for (const frame of frames.slice(-end)) response.write(frame);
  };

async function opened(dialect: string, model: string, options: object, fields?: Fields): Promise<Response> {
  const [path, body] = asked[dialect]?.(model) ?? ['', {}];
  return harness.post(
    path,
    { ...body, ...fields },
    { headers: { 'x-gatehouse-dialect': dialect }, ...options },
  );
}

const requestStart = 'http.server.request.start';

/** Resolves once the service, in this process, has seen the client of its next request leave. */
function clientLeft(): Promise<void> {
  return new Promise((resolve) => {
    const onRequest = (message: unknown): void => {
      const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
      // Requests to the provider have no dialect.
      if (request.headers['x-gatehouse-dialect'] === undefined) return;
      unsubscribe(requestStart, onRequest);
      response.once('close', resolve);
    };
    subscribe(requestStart, onRequest);
  });
}

/** Leaves once the text has come, and resolves with the id of the run once the service has seen it. */
async function leave(dialect: string, model: string, fields?: Fields): Promise<string> {
  const left = clientLeft();
  const leaving = new AbortController();
  const response = await opened(dialect, model, { signal: leaving.signal }, fields);
  let read = '';
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    read += piece;
    if (read.includes('portcullis')) break;
  }
  leaving.abort();
  await left;
  return response.headers.get('x-run-id') ?? '';
}

/** Lets a model answer at a pace with which time is no bound of an estimate. */
async function answerFast(model: string): Promise<void> {
  const answer = JSON.stringify(answers[model] ?? answers['gpt']);
  provider.answer(
    whole(answer.replace(/("(?:completion_tokens|output_tokens|candidatesTokenCount)"):5/, '$1:1000000')),
  );
  const response = await harness.post('/v1/chat/completions', { model, messages });
  expect(await response.text()).toContain('Four.');
}

/** Leaves while the provider is silent, and resolves with the run. */
async function leaveInSilence(dialect: string, model: string, fields: Fields): Promise<Fields> {
  const text = newId();
  const [path, body] = asked[dialect]?.(model) ?? ['', {}];
  const leaving = new AbortController();
  const arrived = Promise.withResolvers<undefined>();
  provider.answer(() => {
    arrived.resolve(undefined);
  });
  const response = harness.post(
    path,
    { ...body, messages: [{ role: 'user', content: text }], ...fields },
    { headers: { 'x-gatehouse-dialect': dialect }, signal: leaving.signal },
  );
  await arrived.promise;
  await sleep(100);
  leaving.abort();
  await expect(response).rejects.toThrow();
  return eventually(async () => {
    const [run] = await harness.endedRuns(`data::json ->> 'input_preview' = $1`, [text]);
    if (run === undefined) throw new Error('the run has not ended');
    return { ...run };
  });
}

/** Resolves once the provider's connection of the newest call is closed. */
async function closed(): Promise<void> {
  const call = provider.received[0]?.response;
  if (call?.destroyed === false) await once(call, 'close', { signal: AbortSignal.timeout(10_000) });
}

describe('a client that leaves after the last text', () => {
  it.each(pairs)('of %s pays what %s reports then', async (dialect = '', model = '') => {
    let report: () => void = () => undefined;
    provider.answer(ending(model, new Promise<void>((resolve) => (report = resolve))));
    const id = await leave(dialect, model);
    report();
    await closed();
    expect(await harness.endedRun(id)).toMatchObject({
      ...{ status: 'cancelled', usage_estimated: false },
      output_tokens: streams[model]?.output,
    });
  });

  it.each([
    ['chat', 'gpt', { reasoning_effort: 'high' }, 24_576],
    ['responses', 'gpt-responses', { reasoning: { effort: 'low' } }, 4_096],
    ['messages', 'claude', { thinking: { type: 'enabled', budget_tokens: 30_000 } }, 30_000],
    ['gemini', 'flash', { generationConfig: { thinkingConfig: { thinkingBudget: 9_000 } } }, 9_000],
  ])(
    'of %s pays the thoughts that it asked for where %s reports none',
    async (dialect, model, fields, most) => {
      await answerFast(model);
      provider.answer(ending(model, new Promise(() => undefined)));
      const run = await harness.endedRun(await leave(dialect, model, fields));
      expect(run).toMatchObject({ status: 'cancelled', usage_estimated: true, reasoning_tokens: most });
      expect(run['output_tokens']).toBeGreaterThan(most);
    },
  );

  it.each(Object.keys(streams))('waits no longer than %s may take for it', async (model) => {
    provider.answer(ending(model, new Promise(() => undefined)));
    const id = await leave('chat', model);
    await closed();
    expect(await harness.endedRun(id)).toMatchObject({ status: 'cancelled', usage_estimated: true });
  });
});

describe('a client that leaves a silent provider', () => {
  it.each<[string, string, Fields, number]>([
    ['chat', 'unlimited', { thinking_budget: 1e12 }, 4_096],
    ['chat', 'small', { reasoning_effort: 'high' }, 8_192],
    ['chat', 'gpt', { thinking_budget: 1e12, max_tokens: 5_000, n: 2 }, 10_000],
    ['messages', 'claude', { max_tokens: 1e12, thinking: { type: 'enabled', budget_tokens: 1e11 } }, 90_000],
  ])('pays no more thoughts of %s than are reserved for %s: %j', async (dialect, model, fields, reserved) => {
    await answerFast(model);
    expect(await leaveInSilence(dialect, model, fields)).toMatchObject({
      ...{ status: 'cancelled', usage_estimated: true },
      ...{ output_tokens: reserved, reasoning_tokens: reserved },
    });
  });

  it.each([
    ['unlimited', {}, 4_096],
    ['small', {}, 8_192],
    ['small', { max_tokens: 3_000, n: 2 }, 6_000],
  ])('pays what %s made of a whole answer: %j', async (model, fields, reserved) => {
    await answerFast(model);
    expect(await leaveInSilence('chat', model, { ...fields, stream: false })).toMatchObject({
      ...{ status: 'cancelled', usage_estimated: true },
      ...{ output_tokens: reserved, reasoning_tokens: 0 },
    });
  });
});

it('a replica that stops waits for the usage of an answer whose text has come', async () => {
  const replica = await harness.startReplica();
  let report: () => void = () => undefined;
  provider.answer(ending('gpt', new Promise<void>((resolve) => (report = resolve))));
  const response = await opened('chat', 'gpt', { url: `http://127.0.0.1:${replica.httpPort}` });
  const cut = expect(response.text()).rejects.toThrow();
  const stopped = replica.stop();
  await cut;
  report();
  await stopped;
  expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
    ...{ status: 'interrupted', usage_estimated: false },
    output_tokens: 5,
  });
});
