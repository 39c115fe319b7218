import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import type { ChatHarness } from './chat-harness.ts';
import { eventsOf, framesOf, messageItem } from './response-answers.ts';
import { ScriptedProvider, type Script } from './scripted-provider.ts';
import { answers, chunks, messageEvents, type Fields } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Streams without an end, of each API for clients of each. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const price = { input_per_mtok: '1', output_per_mtok: '2' };
  harness = await translatingHarness(provider, [
    { id: 'gpt', provider: 'simulator', price },
    { id: 'claude', provider: 'quick', max_output_tokens: 9_000, price },
    { id: 'gpt-responses', provider: 'simulator', api: 'responses', price },
    { id: 'flash', provider: 'wrongkey', price },
  ]);
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const messages = [{ role: 'user', content: 'x' }];
const asked: Readonly<Record<string, (model: string) => [path: string, body: Fields]>> = {
  chat: (model) => ['/v1/chat/completions', { model, messages, stream: true }],
  responses: (model) => ['/v1/responses', { model, input: 'x', stream: true }],
  messages: (model) => ['/v1/messages', { model, max_tokens: 9, messages, stream: true }],
  gemini: (model) => [
    `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
  ],
};

/** Frames of each API up to the first piece of text, which can be repeated. */
const begun: Readonly<Record<string, (text: string) => string[]>> = {
  gpt: (text) => chunks([{ role: 'assistant', content: '' }, { content: text }]).slice(0, 2),
  claude: (text) => messageEvents([{ type: 'text', text }]).slice(0, 3),
  'gpt-responses': (text) => framesOf(eventsOf([messageItem(text)])).slice(0, 5),
  flash: (text) => [
    `data: ${JSON.stringify({
      candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }],
      modelVersion: 'gemini-x',
    })}\n\n`,
  ],
};
const pairs = Object.keys(asked).flatMap((dialect) => Object.keys(answers).map((model) => [dialect, model]));

let taken = 0;
/** Says a word again and again, as fast as it is read. */
const endless =
  (model: string, text: string): Script =>
  async ({ response }) => {
    taken = 0;
    const frames = begun[model]?.(text) ?? [];
    const last = frames.at(-1) ?? '';
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const frame of frames) response.write(frame);
    const closed = once(response, 'close');
    while (!response.destroyed) {
      taken += last.length;
      if (response.write(last)) await sleep(1);
      else await Promise.race([once(response, 'drain'), closed]);
    }
  };

async function opened(dialect: string, model: string, signal: AbortSignal): Promise<Response> {
  const [path, body] = asked[dialect]?.(model) ?? ['', {}];
  return harness.post(path, body, { headers: { 'x-gatehouse-dialect': dialect }, signal });
}

describe('a client that leaves a stream without an end', () => {
  it.each(pairs)('of %s ends the call of %s, and pays for what came', async (dialect = '', model = '') => {
    provider.answer(endless(model, 'portcullis '));
    const leaving = new AbortController();
    const response = await opened(dialect, model, leaving.signal);
    let read = '';
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      read += piece;
      if (read.split('portcullis').length > 20) break;
    }
    leaving.abort();
    const call = provider.received[0]?.response;
    if (call?.destroyed === false) await once(call, 'close', { signal: AbortSignal.timeout(10_000) });
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    expect(run).toMatchObject({ status: 'cancelled', usage_estimated: true, dialect });
    expect(run['output_tokens']).toBeGreaterThan(20);
  });
});

describe('a client that does not read', () => {
  const slow = pairs.filter(([dialect, model]) => dialect === 'messages' || model === 'claude');

  it.each(slow)('of %s holds the stream of %s back', async (dialect = '', model = '') => {
    provider.answer(endless(model, 'x'.repeat(64 * 1024)));
    const leaving = new AbortController();
    const response = await opened(dialect, model, leaving.signal);
    let before = -1;
    while (taken > before) {
      before = taken;
      await sleep(500);
    }
    // Buffers of sockets and of the gateway.
    expect(taken).toBeLessThan(32 * 1024 * 1024);
    leaving.abort();
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({ status: 'cancelled' });
  });
});
