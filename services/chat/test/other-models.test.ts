import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import type { ChatHarness } from './chat-harness.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';
import { answers, type Fields } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Models named by a request beside its own, for tenants with a list of models. */

let provider: ScriptedProvider;
let harness: ChatHarness;
const tenantId = newId();
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [
    { id: 'haiku', provider: 'quick', upstream_model: 'claude-haiku-4-5', aliases: ['claude-mythos-5'] },
    { id: 'sonnet', provider: 'quick', upstream_model: 'claude-sonnet-5' },
    { id: 'claude-opus-5', provider: 'quick' },
    { id: 'small', provider: 'simulator', upstream_model: 'vendor/small' },
    { id: 'codex', provider: 'simulator', api: 'responses', upstream_model: 'vendor/codex' },
  ]);
  const ids = ['haiku', 'claude-mythos-5', 'sonnet', 'small', 'codex'];
  harness.settings.set(tenantId, { allowedModels: { ids } });
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});
beforeEach(() => {
  provider.received.splice(0);
});

const paths = { messages: '/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' };
type Api = keyof typeof paths;
const asked: Record<Api, Fields> = {
  messages: { model: 'haiku', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
  chat: { model: 'small', messages: [{ role: 'user', content: 'x' }] },
  responses: { model: 'codex', input: 'x', store: false },
};

async function ask(api: Api, fields: Fields, principal: Fields = { tenantId }) {
  provider.answer(whole(answers[{ messages: 'claude', chat: 'gpt', responses: 'gpt-responses' }[api]]));
  const headers = { 'x-gatehouse-dialect': api };
  const response = await harness.post(paths[api], { ...asked[api], ...fields }, { principal, headers });
  return { status: response.status, text: await response.text(), calls: provider.received.length };
}

const advisor = (model: unknown) => ({ type: 'advisor_20260301', name: 'advisor', model });
const defined = (definition: Fields) => ({
  messages: [
    { role: 'user', content: 'x' },
    {
      role: 'system',
      content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition } }],
    },
    { role: 'user', content: 'y' },
  ],
});

describe('a model that the provider would call beside the one of the request', () => {
  it.each<[Api, Fields, string]>([
    ['messages', { tools: [advisor('claude-opus-5')] }, 'tools'],
    ['messages', { tools: [advisor('claude-sonnet-5'), advisor('claude-fable-5-1')] }, 'tools'],
    // An id or alias of the catalogue has another model behind it.
    ['messages', { tools: [advisor('haiku')] }, 'tools'],
    ['messages', { tools: [advisor('claude-mythos-5')] }, 'tools'],
    ['messages', defined(advisor('claude-opus-5')), 'tools'],
    ['messages', { fallbacks: [{ model: 'claude-sonnet-5' }, { model: 'claude-opus-5' }] }, 'fallbacks'],
    ['chat', { models: ['vendor/small', 'vendor/large'] }, 'models'],
    ['chat', { fallbacks: ['vendor/large'] }, 'fallbacks'],
    ['chat', { tools: [{ type: 'openrouter:advisor', parameters: { model: 'vendor/large' } }] }, 'tools'],
    ['chat', { plugins: [{ id: 'fusion', model: 'vendor/large' }] }, 'plugins'],
    ['responses', { models: ['vendor/large'] }, 'models'],
    ['responses', { tools: [{ type: 'openrouter:subagent', model: 'vendor/large' }] }, 'tools'],
  ])('%s with %j is one of those of the tenant', async (api, fields, param) => {
    const { status, text, calls } = await ask(api, fields);
    expect([status, calls]).toEqual([404, 0]);
    expect(text).toContain('model_not_found');
    expect(text).toContain(`"param":"${param}"`);
    expect(await ask(api, fields, {})).toMatchObject({ status: 200, calls: 1 });
  });

  it('is refused behind 64 others', async () => {
    const tools = (length: number) => Array.from({ length }, () => advisor('claude-sonnet-5'));
    expect((await ask('messages', { tools: tools(65) })).status).toBe(404);
    expect((await ask('messages', { tools: tools(64) })).status).toBe(200);
  });

  it.each<[Api, Fields]>([
    ['messages', { tools: [advisor('claude-sonnet-5')] }],
    ['messages', { tools: [{ name: 'choose', input_schema: { type: 'object' }, model: 'claude-opus-5' }] }],
    ['messages', { fallbacks: 'default' }],
    ['messages', defined({ name: 'choose', input_schema: { type: 'object' } })],
    ['chat', { models: ['vendor/small'] }],
    [
      'chat',
      { tools: [{ type: 'function', function: { name: 'f', parameters: { model: 'vendor/large' } } }] },
    ],
    ['responses', { tools: [{ type: 'function', name: 'f', parameters: { model: 'vendor/large' } }] }],
    ['responses', { tools: [{ type: 'image_generation', model: 'gpt-image-2' }] }],
  ])('%s with %j goes on', async (api, fields) => {
    expect(await ask(api, fields)).toMatchObject({ status: 200, calls: 1 });
  });
});
