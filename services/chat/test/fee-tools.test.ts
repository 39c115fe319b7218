import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { ChatHarness } from './chat-harness.ts';
import { countingPolicy } from './counting-policy.ts';
import { answerOf, eventsOf, framesOf, messageItem, type Fields } from './response-answers.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';
import { answers } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Tools of providers that have a fee, in requests of tenants with a budget. */

let provider: ScriptedProvider;
let harness: ChatHarness;
const tenantId = newId();
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const price = { input_per_mtok: '1', output_per_mtok: '2' };
  const priced = { ...price, per_tool_call: { web_search: '0.01' } };
  harness = await translatingHarness(provider, [
    { id: 'gpt', provider: 'simulator', api: 'responses', reasoning: false, price },
    { id: 'gpt-priced', provider: 'simulator', api: 'responses', reasoning: false, price: priced },
    { id: 'chat', provider: 'simulator', price },
    { id: 'claude', provider: 'quick', price },
    { id: 'claude-priced', provider: 'quick', price: priced },
    { id: 'gemini', provider: 'wrongkey', price },
  ]);
  harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const ask = (path: string, body: Fields, dialect: string, principal = { tenantId }): Promise<Response> =>
  harness.post(path, body, { principal, headers: { 'x-gatehouse-dialect': dialect } });
const search = { type: 'web_search', external_web_access: true };
const shell = { type: 'function', name: 'shell', parameters: { type: 'object', properties: {} } };
const added = { type: 'additional_tools', tools: [search, { ...shell, name: 'more' }] };
const asked = { model: 'gpt', input: [{ role: 'user', content: 'x' }, added], store: false };
const sent = (): Fields => JSON.parse(provider.received[0]?.body.toString() ?? '') as Fields;

describe('tools that Codex offers with each request', () => {
  const output = [messageItem('Done.')];
  it.each([
    ['whole', false, whole(answerOf(output))],
    ['streamed', true, streamed(framesOf(eventsOf(output)))],
  ])('are left out and named without a price: %s', async (_name, stream, script) => {
    const { tools: _, ...rest } = added;
    for (const tools of [[search, shell], [shell, search], [search]]) {
      provider.answer(script);
      const response = await ask('/v1/responses', { ...asked, tools, stream }, 'responses');
      expect(response.status).toBe(200);
      await response.text();
      expect(response.headers.get('x-gateway-ignored')).toBe('tools.web_search');
      expect(sent()).toMatchObject({
        ...(tools.length > 1 && { tools: [shell] }),
        input: [{ content: 'x' }, { ...rest, tools: [{ name: 'more' }] }],
      });
    }
  });

  it('are sent where a budget only counts', async () => {
    const counting = newId();
    harness.settings.set(counting, { policies: [countingPolicy(harness)] });
    provider.answer(whole(answerOf(output)));
    const response = await ask('/v1/responses', { ...asked, tools: [search, shell] }, 'responses', {
      tenantId: counting,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-gateway-ignored')).toBeNull();
    expect(sent()).toMatchObject({ tools: [search, shell] });
  });

  it.each([
    ['with a price', 'gpt-priced', { tenantId }],
    ['without a budget', 'gpt', { tenantId: newId() }],
  ])('reach the provider as they are %s', async (_name, model, principal) => {
    provider.answer(whole(answerOf(output)));
    const response = await ask(
      '/v1/responses',
      { ...asked, model, tools: [search, shell] },
      'responses',
      principal,
    );
    await response.text();
    expect([response.status, response.headers.get('x-gateway-ignored')]).toEqual([200, null]);
    expect(sent()).toMatchObject({ tools: [search, shell], input: [{ content: 'x' }, added] });
  });
});

const contents = [{ role: 'user', parts: [{ text: 'x' }] }];
const messages = [{ role: 'user', content: 'x' }];
const generate = '/v1beta/models/gemini:generateContent';
const searcher = { type: 'web_search_20250305', name: 'web_search' };

describe('a tool of the provider that a request is for', () => {
  it.each<[string, string, string, Fields]>([
    ['a search by name', '/v1/responses', 'responses', { ...asked, tools: [search], tool_choice: search }],
    [
      'a search that must be called',
      '/v1/responses',
      'responses',
      { ...asked, input: 'x', tools: [search], tool_choice: 'required' },
    ],
    [
      'a search in a namespace',
      '/v1/responses',
      'responses',
      { ...asked, input: 'x', tools: [{ type: 'namespace', name: 'n', tools: [search] }, shell] },
    ],
    ['a search of files', '/v1/responses', 'responses', { ...asked, tools: [{ type: 'file_search' }] }],
    ['a tool that is new', '/v1/responses', 'responses', { ...asked, tools: [{ type: 'teleport' }] }],
    [
      'a search of Claude',
      '/v1/messages',
      'messages',
      { model: 'claude', max_tokens: 9, messages, tools: [searcher] },
    ],
    [
      'code of Claude, whose price is another',
      '/v1/messages',
      'messages',
      { model: 'claude-priced', max_tokens: 9, messages, tools: [{ type: 'code_execution_20250825' }] },
    ],
    ['a search of Google', generate, 'gemini', { contents, tools: [{ google_search: {} }] }],
    ['maps of Google', generate, 'gemini', { contents, tools: [{ googleMaps: {} }] }],
    [
      'a search by option',
      '/v1/chat/completions',
      'chat',
      { model: 'chat', messages, web_search_options: {} },
    ],
    [
      'a search of xAI',
      '/v1/chat/completions',
      'chat',
      { model: 'chat', messages, search_parameters: { mode: 'on' } },
    ],
    ...[
      ...[{ id: 'fusion' }, { id: 'web' }, { id: 'web-fetch', enabled: false }, { id: 'teleport' }],
      ...[{ id: 'file-parser' }, { id: 'file-parser', pdf: { engine: 'mistral-ocr' } }],
    ].flatMap((plugin): [string, string, string, Fields][] => {
      const plugins = [{ id: 'response-healing' }, plugin];
      const name = `the plugin ${JSON.stringify(plugin)}`;
      return [
        [name, '/v1/chat/completions', 'chat', { model: 'chat', messages, plugins }],
        [name, '/v1/responses', 'responses', { ...asked, plugins, max_tool_calls: 0 }],
        [name, '/v1/messages', 'messages', { model: 'claude', max_tokens: 9, messages, plugins }],
      ];
    }),
    [
      'another model of Vertex AI',
      generate,
      'gemini',
      { contents, generationConfig: { routingConfig: { manualMode: { modelName: 'gemini-3-pro' } } } },
    ],
  ])('is refused before the call without a price: %s', async (_name, path, dialect, body) => {
    provider.answer();
    const response = await ask(path, body, dialect);
    const text = await response.text();
    expect(response.status).toBe(403);
    expect(text).toContain('has no price for the tool');
    expect(provider.received).toEqual([]);
  });

  it.each<Fields>([
    { search_parameters: { mode: 'off' } },
    { plugins: ['web', 'fusion', 'file-parser'].map((id) => ({ id, enabled: false })) },
    { plugins: [{ id: 'response-healing' }, { id: 'context-compression' }, { id: 'auto-router' }] },
    { plugins: [{ id: 'file-parser', pdf: { engine: 'cloudflare-ai' } }] },
  ])('passes where it is off or costs no more than its tokens: %j', async (fields) => {
    provider.answer(whole(answers['gpt']));
    const response = await ask('/v1/chat/completions', { model: 'chat', messages, ...fields }, 'chat');
    expect(response.status).toBe(200);
  });

  it.each<[string, string, Fields, string, string]>([
    ...['web', 'fusion'].flatMap((id): [string, string, Fields, string, string][] => {
      const plugins = [{ id }];
      return [
        ['messages', '/v1/messages', { model: 'chat', max_tokens: 9, messages, plugins }, 'gpt', id],
        ['chat', '/v1/chat/completions', { model: 'claude-priced', messages, plugins }, 'claude', id],
      ];
    }),
  ])('costs no budget where translation leaves it out: %s %s', async (dialect, path, body, answer) => {
    provider.answer(whole(answers[answer]));
    const response = await ask(path, body, dialect);
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    expect(sent()).not.toHaveProperty('plugins');
  });

  it.each<[string, string, Fields]>([
    ['responses', '/v1/responses', { ...asked, input: 'x' }],
    ['messages', '/v1/messages', { model: 'claude', max_tokens: 9, messages }],
    ['chat', '/v1/chat/completions', { model: 'chat', messages }],
  ])('in a second list of tools is refused, whichever a provider reads: %s', async (dialect, path, body) => {
    provider.answer();
    const lists = `"tools":[${JSON.stringify(search)}],"tools":[${JSON.stringify(shell)}]`;
    const text = `${JSON.stringify(body).slice(0, -1)},${lists}}`;
    const response = await harness.post(path, text, {
      principal: { tenantId },
      headers: { 'x-gatehouse-dialect': dialect },
    });
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('two members of this name'),
    ]);
    expect(provider.received).toEqual([]);
  });

  it('is left out where another must be called', async () => {
    provider.answer(whole(answerOf([messageItem('Done.')])));
    const body = { ...asked, input: 'x', tools: [search, shell], tool_choice: 'required' };
    expect((await ask('/v1/responses', body, 'responses')).status).toBe(200);
    expect(sent()).toMatchObject({ tools: [shell], tool_choice: 'required' });
  });

  it('passes where it costs its tokens alone', async () => {
    const page = [{ type: 'web_fetch_20250910' }];
    const code = [{ codeExecution: {} }];
    provider.answer(whole(answers['flash']), whole(answers['claude']));
    const ofGoogle = await ask(generate, { contents, tools: code }, 'gemini');
    const ofClaude = await ask(
      '/v1/messages',
      { model: 'claude', max_tokens: 9, messages, tools: page },
      'messages',
    );
    expect([ofGoogle.status, ofClaude.status]).toEqual([200, 200]);
    const bodies = provider.received.map(({ body }) => JSON.parse(body.toString()) as Fields);
    expect(bodies).toMatchObject([{ tools: code }, { tools: page }]);
  });
});
