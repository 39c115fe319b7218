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
    { id: 'flash', provider: 'wrongkey', upstream_model: 'gemini-3-flash' },
    { id: 'mixed', provider: 'simulator', upstream_model: 'vendor/small', fallbacks: ['haiku'] },
    { id: 'router/*', provider: 'simulator', upstream_model: '*' },
  ]);
  const usable = ['haiku', 'claude-mythos-5', 'sonnet', 'small', 'codex', 'flash'];
  const ids = [...usable, 'mixed', 'router/deepseek/*'];
  harness.settings.set(tenantId, { allowedModels: { ids } });
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});
beforeEach(() => {
  provider.received.splice(0);
});

const paths = {
  ...{ messages: '/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' },
  gemini: '/v1beta/models/flash:generateContent',
};
type Api = keyof typeof paths;
const asked: Record<Api, Fields> = {
  messages: { model: 'haiku', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
  chat: { model: 'small', messages: [{ role: 'user', content: 'x' }] },
  responses: { model: 'codex', input: 'x', store: false },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
};
const answering = { messages: 'claude', chat: 'gpt', responses: 'gpt-responses', gemini: 'flash' } as const;

async function ask(api: Api, fields: Fields, principal: Fields = { tenantId }) {
  provider.answer(whole(answers[answering[api]]));
  const headers = { 'x-gatehouse-dialect': api };
  const response = await harness.post(paths[api], { ...asked[api], ...fields }, { principal, headers });
  return { status: response.status, text: await response.text(), calls: provider.received.length };
}

const advisor = (model: unknown) => ({ type: 'advisor_20260301', name: 'advisor', model });
const serverTool = (name: string, parameters: Fields = {}) => ({ type: `openrouter:${name}`, parameters });
const panel = (models: string[]) => ({ id: 'fusion', analysis_models: models, model: 'vendor/small' });
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
    // The pattern is another provider's.
    ['messages', { tools: [advisor('deepseek/deepseek-r1')] }, 'tools'],
    // An id or alias of the catalogue has another model behind it.
    ['messages', { tools: [advisor('haiku')] }, 'tools'],
    ['messages', { tools: [advisor('claude-mythos-5')] }, 'tools'],
    ['messages', defined(advisor('claude-opus-5')), 'tools'],
    // A fallback of the operator would get the field.
    ['messages', { model: 'mixed', fallbacks: [{ model: 'claude-opus-5' }] }, 'fallbacks'],
    ['messages', { fallbacks: [{ model: 'claude-sonnet-5' }, { model: 'claude-opus-5' }] }, 'fallbacks'],
    ['chat', { models: ['vendor/small', 'vendor/large'] }, 'models'],
    ['chat', { fallbacks: ['vendor/large'] }, 'fallbacks'],
    ['chat', { tools: [{ type: 'openrouter:advisor', parameters: { model: 'vendor/large' } }] }, 'tools'],
    ['chat', { plugins: [{ id: 'fusion', model: 'vendor/large' }] }, 'plugins'],
    ['chat', { plugins: [panel(['vendor/small', 'vendor/large'])] }, 'plugins'],
    ['chat', { tools: [serverTool('fusion', { analysis_models: ['vendor/large'] })] }, 'tools'],
    ['chat', { tools: [serverTool('image_generation', { model: 'vendor/pictures' })] }, 'tools'],
    ['chat', { tools: [serverTool('subagent', { tools: [serverTool('fusion')] })] }, 'tools'],
    ['chat', { plugins: [{ ...panel(['vendor/small']), tools: [serverTool('advisor')] }] }, 'plugins'],
    ['responses', { models: ['vendor/large'] }, 'models'],
    ['responses', { plugins: [{ id: 'fusion' }] }, 'plugins'],
    ['messages', { plugins: [{ id: 'fusion' }] }, 'plugins'],
    ['responses', { tools: [{ type: 'namespace', name: 'n', tools: [serverTool('fusion')] }] }, 'tools'],
    ['responses', { tools: [{ type: 'openrouter:subagent', model: 'vendor/large' }] }, 'tools'],
  ])('%s with %j is one of those of the tenant', async (api, fields, param) => {
    const { status, text, calls } = await ask(api, fields);
    expect([status, calls]).toEqual([404, 0]);
    expect(text).toContain('model_not_found');
    expect(text).toContain(`"param":"${param}"`);
    if (fields['model'] === 'mixed') return;
    expect(await ask(api, fields, {})).toMatchObject({ status: 200, calls: 1 });
  });

  it.each<Fields>([
    { tools: [serverTool('fusion')] },
    // OpenRouter reads the parameters alone.
    { tools: [{ ...serverTool('fusion'), analysis_models: ['vendor/small'] }] },
    { tools: [serverTool('fusion', { analysis_models: [] })] },
    { tools: [serverTool('advisor')] },
    { tools: [serverTool('image_generation')] },
    { tools: [serverTool('teleport')] },
    { plugins: [{ id: 'fusion' }] },
    { plugins: [{ id: 'fusion', preset: 'general-high' }] },
    { plugins: [{ id: 'fusion', model: 'vendor/small' }] },
    { plugins: [{ id: 'fusion', analysis_models: ['vendor/small'] }] },
    { plugins: [{ id: 'teleport', enabled: false }] },
    { plugins: [{}] },
  ])('is refused where the provider chooses it: %j', async (fields) => {
    expect(await ask('chat', fields)).toMatchObject({ status: 404, calls: 0 });
    expect(await ask('chat', fields, {})).toMatchObject({ status: 200, calls: 1 });
  });

  it.each<Fields>([
    { routingConfig: { manualMode: { modelName: 'gemini-3-pro' } } },
    { routing_config: { manual_mode: { model_name: 'gemini-3-pro' } } },
    { routingConfig: { autoMode: { modelRoutingPreference: 'PRIORITIZE_QUALITY' } } },
    { modelConfig: { featureSelectionPreference: 'PRIORITIZE_QUALITY' } },
  ])('is refused where Vertex AI calls it in place of the own one: %j', async (generationConfig) => {
    expect(await ask('gemini', { generationConfig })).toMatchObject({ status: 404, calls: 0 });
    expect(await ask('gemini', { generationConfig }, {})).toMatchObject({ status: 200, calls: 1 });
  });

  it.each<[Api, Fields, string]>([
    ['messages', { model: 'small', fallbacks: [{ model: 'claude-opus-5' }] }, 'gpt'],
    ['messages', { model: 'codex', fallbacks: [{ model: 'claude-opus-5' }] }, 'gpt-responses'],
    ['chat', { model: 'haiku', models: ['vendor/large'] }, 'claude'],
    ['chat', { model: 'codex', models: ['vendor/large'] }, 'gpt-responses'],
    ['responses', { model: 'small', models: ['vendor/large'], fallbacks: ['vendor/large'] }, 'gpt'],
  ])('%s with %j is left out for a model of another API', async (api, fields, answer) => {
    provider.answer(whole(answers[answer]));
    const headers = { 'x-gatehouse-dialect': api };
    const sent = { principal: { tenantId }, headers };
    const response = await harness.post(paths[api], { ...asked[api], ...fields }, sent);
    expect([response.status, provider.received.length]).toEqual([200, 1]);
    expect(provider.received[0]?.body.toString()).not.toMatch(/claude-opus-5|vendor\/large/);
    const names = Object.keys(fields).filter((name) => name !== 'model');
    const ignored = response.headers.get('x-gateway-ignored')?.split(', ');
    expect(ignored).toEqual(expect.arrayContaining(names));
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
    ['chat', { tools: [serverTool('web_search'), serverTool('datetime'), serverTool('subagent')] }],
    ['chat', { tools: [serverTool('fusion', { analysis_models: ['vendor/small', 'vendor/codex'] })] }],
    ['chat', { tools: [serverTool('advisor', { model: 'vendor/codex' })] }],
    ['chat', { plugins: [{ id: 'web' }, { id: 'file-parser' }, { id: 'response-healing' }] }],
    ['chat', { plugins: [{ id: 'auto-router', allowed_models: ['vendor/*'] }] }],
    ['chat', { plugins: [panel(['vendor/small'])] }],
    ['chat', { plugins: [{ id: 'fusion', enabled: false }] }],
    ['gemini', { generationConfig: { routingConfig: { manualMode: { modelName: 'gemini-3-flash' } } } }],
    ['gemini', { generationConfig: { routingConfig: {} } }],
    ['chat', { models: ['deepseek/deepseek-r1'] }],
    ['chat', { model: 'router/deepseek/deepseek-v4', models: ['vendor/small', 'deepseek/deepseek-r1'] }],
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
