import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { ChatHarness } from './chat-harness.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const api_key_env = 'UNUSED';
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { name: 'simulator', kind: 'openai', base_url: `${provider.url}/v1`, api_key_env, max_retries: 0 },
        { name: 'claude', kind: 'anthropic', base_url: provider.url, api_key_env },
      ],
      models: [
        { id: 'omni-moderation-latest', provider: 'simulator' },
        { id: 'mine', provider: 'simulator', upstream_model: 'theirs', price: priceOf('1', '0.5') },
        { id: 'answers', provider: 'simulator', api: 'responses' },
        { id: 'claude', provider: 'claude', fallbacks: ['mine'] },
        { id: 'claude-alone', provider: 'claude' },
      ],
      embeddings: undefined,
    },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

function priceOf(input_per_mtok: string, per_call_usd: string): object {
  return { input_per_mtok, output_per_mtok: '0', per_call_usd };
}

const moderate = (fields: object, tenantId = newId()): Promise<Response> =>
  harness.post('/v1/moderations', fields, { principal: { tenantId } });
const runOf = (response: Response) => harness.endedRun(response.headers.get('x-run-id'));
const verdict = { flagged: true, categories: { violence: true }, category_scores: { violence: 0.93 } };
const answer = { id: 'modr-1', model: 'theirs-2', results: [verdict, verdict], newer: [1] };
const sent = (): unknown => JSON.parse(provider.received.at(-1)?.body.toString() ?? '');

describe('POST /v1/moderations', () => {
  it('passes request and answer through as a run, free of charge without a price, with estimated tokens', async () => {
    provider.answer(whole(answer));
    const response = await moderate({ input: ['Have a nice day.', 'Be gone!'], newer: true });
    expect([response.status, await response.json()]).toEqual([200, answer]);
    expect(provider.received.at(-1)?.path).toBe('/v1/moderations');
    expect(sent()).toEqual({
      ...{ model: 'omni-moderation-latest', input: ['Have a nice day.', 'Be gone!'], newer: true },
    });
    const run = await runOf(response);
    expect(run).toMatchObject({
      ...{ operation: 'moderations', status: 'ok', channel: 'api', dialect: 'chat', streamed: false },
      ...{ request_model: 'omni-moderation-latest', response_model: 'theirs-2', provider: 'simulator' },
      ...{ cost_pico: '0', priced: true, price_source: null, output_tokens: 0, usage_estimated: true },
      ...{ input_preview: 'Have a nice day.\nBe gone!', output_preview: null },
      spans: [{ kind: 'llm', status: 'ok', cost_pico: '0' }],
    });
    expect(run.input_tokens).toBeGreaterThan(5);
  });

  it('passes on an answer too large for parsing', async () => {
    const large = JSON.stringify({ ...answer, results: Array.from({ length: 100_000 }, () => verdict) });
    provider.answer(whole(large));
    const response = await moderate({ input: 'one' });
    expect([response.status, (await response.text()) === large]).toEqual([200, true]);
    expect(await runOf(response)).toMatchObject({ status: 'ok', response_model: 'theirs-2' });
  });

  it('costs the price that is set, by the tokens that the provider reports', async () => {
    provider.answer(whole({ ...answer, usage: { prompt_tokens: 1_000, total_tokens: 1_000 } }));
    const response = await moderate({ model: 'mine', input: 'one' });
    expect(sent()).toEqual({ model: 'theirs', input: 'one' });
    expect(await runOf(response)).toMatchObject({
      ...{
        input_tokens: 1_000,
        usage_estimated: false,
        cost_pico: '501000000000',
        price_source: 'catalogue',
      },
    });
  });

  it('counts in the limits and the budget of a tenant, which refuses no model for lack of a price', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.BUDGET, Resource.REQUESTS, Resource.TOKENS] });
    provider.answer(whole(answer), whole(answer));
    const free = await moderate({ input: [{ type: 'text', text: 'one' }] }, tenantId);
    const priced = await moderate({ model: 'mine', input: 'one' }, tenantId);
    expect([free.status, priced.status]).toEqual([200, 200]);
    expect(priced.headers.get('x-ratelimit-limit-tokens')).not.toBeNull();
    const { cost_pico: cost } = await runOf(priced);
    await eventually(() => {
      const charged = harness.settlements.filter((settlement) => settlement.tenantId === tenantId);
      expect(charged.reduce((sum, { costPico }) => sum + Number(costPico), 0)).toBe(Number(cost));
    });
    harness.usedUp.add(tenantId);
    const refused = await moderate({ input: 'one' }, tenantId);
    expect(refused.status).toBe(429);
  });

  it.each([
    ['no input', {}, 'missing_required_parameter', 'input'],
    ['an empty list', { input: [] }, 'invalid_value', 'input'],
    ['an input of another type', { input: 1 }, 'invalid_type', 'input'],
    ['an empty name', { model: '', input: 'one' }, 'invalid_value', 'model'],
    ['an unknown model', { model: 'nothing', input: 'one' }, 'model_not_found', 'model'],
    ['an agent', { model: 'agent:helper', input: 'one' }, 'model_not_found', 'model'],
    ['a model of responses', { model: 'answers', input: 'one' }, 'unsupported_parameter', 'model'],
    ['a provider without it', { model: 'claude-alone', input: 'one' }, 'unsupported_parameter', 'model'],
  ])('refuses %s before any call', async (_what, fields, code, param) => {
    const calls = provider.received.length;
    const response = await moderate(fields);
    expect((await response.json()) as object).toMatchObject({ error: { code, param } });
    expect(response.status).toBe(code === 'model_not_found' ? 404 : 400);
    expect([response.headers.get('x-run-id'), provider.received.length]).toEqual([null, calls]);
  });

  it('passes over models without it, and shows errors as the other routes do', async () => {
    provider.answer(whole(answer), whole({ error: { message: 'Too long.', param: 'input' } }, 400));
    const fallen = await moderate({ model: 'claude', input: 'one' });
    expect([fallen.status, fallen.headers.get('x-gateway-model')]).toEqual([200, 'mine']);
    const wrong = await moderate({ input: 'one' });
    expect([wrong.status, await wrong.json()]).toMatchObject([400, { error: { message: 'Too long.' } }]);
    for (const rubbish of [
      { id: 'modr-1', results: [] },
      { results: [{ flagged: 'no' }] },
      { error: 'No.' },
    ]) {
      provider.answer(whole(rubbish));
      const broken = await moderate({ input: 'one' });
      expect(broken.status).toBe(502);
      expect(await runOf(broken)).toMatchObject({ status: 'error' });
    }
  });
});
