import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import type { ChatHarness } from './chat-harness.ts';
import { answerOf, eventsOf, framesOf, messageItem, type Fields } from './response-answers.ts';
import { ScriptedProvider, whole, type Script } from './scripted-provider.ts';
import { message, messageEvents } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** A budget is charged for each class of tokens, tier and tool, priced or not, however a call ends. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const price = { input_per_mtok: '1', output_per_mtok: '2' };
  const free = { input_per_mtok: '0', output_per_mtok: '0', per_tool_call: { web_search: '0.01' } };
  harness = await translatingHarness(provider, [
    { id: 'chat', provider: 'simulator', price },
    { id: 'embedder', provider: 'simulator', price },
    { id: 'gpt', provider: 'simulator', api: 'responses', reasoning: false, price: free },
    { id: 'searcher', provider: 'simulator', price: free },
    { id: 'claude', provider: 'quick', price: free },
    { id: 'gemini', provider: 'wrongkey', price: free },
  ]);
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

/** Usage of a hundred tokens in one class each. */
const classes: Readonly<Record<string, Fields>> = {
  input: { prompt_tokens: 100 },
  cached: { prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 100 } },
  'cache write': { prompt_tokens: 100, prompt_tokens_details: { cache_write_tokens: 100 } },
  'audio in': { prompt_tokens: 100, prompt_tokens_details: { audio_tokens: 100 } },
  'image in': { prompt_tokens: 100, prompt_tokens_details: { image_tokens: 100 } },
  output: { completion_tokens: 100 },
  reasoning: { completion_tokens: 100, completion_tokens_details: { reasoning_tokens: 100 } },
  'audio out': { completion_tokens: 100, completion_tokens_details: { audio_tokens: 100 } },
  'image out': { completion_tokens: 100, completion_tokens_details: { image_tokens: 100 } },
};
const tiers = [undefined, 'priority', 'odd-tier'];
const ways = ['whole', 'finished', 'client closed', 'provider cut'] as const;
type Way = (typeof ways)[number];

/** An answer in one of the ways. `frames`: all of a stream. A stream that breaks off does so before its last frame. */
function scriptOf(way: Way, answer: Fields, frames: readonly string[]): Script {
  if (way === 'whole') return whole(answer);
  return ({ response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const isWhole = way === 'finished';
    response.write((isWhole ? frames : frames.slice(0, -1)).join(''), () => {
      if (isWhole) response.end();
      else if (way === 'provider cut') setTimeout(() => response.destroy(), 20);
    });
  };
}

/** Asks as a tenant of its own with a budget, and leaves in one of the ways. Returns the tenant. */
async function leave(way: Way, path: string, body: Fields, dialect: string): Promise<string> {
  const tenantId = newId();
  harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
  const leaving = new AbortController();
  const response = await harness.post(
    path,
    { ...body, ...(way !== 'whole' && { stream: true }) },
    { principal: { tenantId }, headers: { 'x-gatehouse-dialect': dialect }, signal: leaving.signal },
  );
  expect(response.status).toBe(200);
  if (way !== 'client closed') {
    await response.text().catch(() => undefined);
    return tenantId;
  }
  await response.body?.getReader().read();
  leaving.abort();
  return tenantId;
}

/** Resolves once each of the tenants was charged; fails with the names of those that were not. */
async function expectCharges(tenants: ReadonlyMap<string, string>): Promise<void> {
  await eventually(() => {
    const charged = new Set(
      harness.settlements.filter(({ costPico }) => costPico > 0n).map(({ tenantId }) => tenantId),
    );
    expect([...tenants].flatMap(([id, name]) => (charged.has(id) ? [] : [name]))).toEqual([]);
  });
}

describe.each(ways)('a call that ends in the way: %s', (way) => {
  it('is charged for each class of tokens in each tier', async () => {
    const tenants = new Map<string, string>();
    for (const [name, fields] of Object.entries(classes))
      for (const tier of tiers) {
        const usage = { prompt_tokens: 0, completion_tokens: 0, ...fields, total_tokens: 100 };
        const head = {
          id: 'c1',
          created: 7,
          model: 'x',
          usage,
          ...(tier !== undefined && { service_tier: tier }),
        };
        const choice = { index: 0, finish_reason: 'stop' };
        const said = { role: 'assistant', content: 'Four.' };
        const chunk = { ...head, object: 'chat.completion.chunk', choices: [{ ...choice, delta: said }] };
        provider.answer(
          scriptOf(way, { ...head, object: 'chat.completion', choices: [{ ...choice, message: said }] }, [
            `data: ${JSON.stringify(chunk)}\n\n`,
            'data: [DONE]\n\n',
          ]),
        );
        const body = { model: 'chat', messages: [{ role: 'user', content: 'x' }] };
        tenants.set(
          await leave(way, '/v1/chat/completions', { ...body, service_tier: tier }, 'chat'),
          `${name} in ${tier ?? 'no tier'}`,
        );
      }
    await expectCharges(tenants);
  });

  it('is charged for searches, also where tokens are free', async () => {
    const tenants = new Map<string, string>();
    const search = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search' } };
    const output = [search, messageItem('Found.')];
    provider.answer(scriptOf(way, answerOf(output), framesOf(eventsOf(output))));
    const asked = { model: 'gpt', input: 'x', tools: [{ type: 'web_search' }] };
    tenants.set(await leave(way, '/v1/responses', asked, 'responses'), 'responses');

    const said = message([{ type: 'text', text: 'Found.' }]);
    const used = { server_tool_use: { web_search_requests: 1 } };
    const frames = messageEvents([{ type: 'text', text: 'Found.' }]);
    const withUse = frames.map((frame) =>
      frame.replace(
        '"usage":{"output_tokens":5',
        `"usage":{${JSON.stringify(used).slice(1, -1)},"output_tokens":5`,
      ),
    );
    provider.answer(
      scriptOf(
        way,
        { ...said, usage: { ...(said['usage'] as Fields), ...used } },
        // It breaks off before the frame that counts the searches.
        way === 'finished' ? withUse : withUse.slice(0, -1),
      ),
    );
    const messages = [{ role: 'user', content: 'x' }];
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
    tenants.set(
      await leave(way, '/v1/messages', { model: 'claude', max_tokens: 9, messages, tools }, 'messages'),
      'messages',
    );

    const usageMetadata = { promptTokenCount: 6, candidatesTokenCount: 5, totalTokenCount: 11 };
    const part = { index: 0, content: { role: 'model', parts: [{ text: 'Found.' }] } };
    const grounded = { ...part, finishReason: 'STOP', groundingMetadata: { webSearchQueries: ['a'] } };
    // Each chunk has usage, and the last one the searches.
    const chunksOfGoogle = [part, grounded].map(
      (candidate) => `data: ${JSON.stringify({ candidates: [candidate], usageMetadata })}\n\n`,
    );
    provider.answer(scriptOf(way, { candidates: [grounded], usageMetadata }, chunksOfGoogle));
    const method = way === 'whole' ? 'generateContent' : 'streamGenerateContent?alt=sse';
    const contents = [{ role: 'user', parts: [{ text: 'x' }] }];
    const searching = { contents, tools: [{ google_search: {} }] };
    tenants.set(await leave(way, `/v1beta/models/gemini:${method}`, searching, 'gemini'), 'gemini');

    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const head = { id: 'c1', created: 7, model: 'x', usage };
    const choice = { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Found.' } };
    const { message: delta, ...begun } = choice;
    const chunk = { ...head, object: 'chat.completion.chunk', choices: [{ ...begun, delta }] };
    provider.answer(
      scriptOf(way, { ...head, object: 'chat.completion', choices: [choice] }, [
        `data: ${JSON.stringify(chunk)}\n\n`,
        'data: [DONE]\n\n',
      ]),
    );
    tenants.set(
      await leave(
        way,
        '/v1/chat/completions',
        { model: 'searcher', messages, web_search_options: {} },
        'chat',
      ),
      'chat',
    );
    await expectCharges(tenants);
  });
});

it('embeddings are charged, with and without reported usage', async () => {
  const tenants = new Map<string, string>();
  for (const usage of [{ prompt_tokens: 100, total_tokens: 100 }, undefined]) {
    const data = [{ object: 'embedding', index: 0, embedding: [0.5] }];
    provider.answer(whole({ object: 'list', model: 'x', data, usage }));
    const body = { model: 'embedder', input: 'some text' };
    tenants.set(await leave('whole', '/v1/embeddings', body, 'chat'), `usage ${String(usage !== undefined)}`);
  }
  await expectCharges(tenants);
});
