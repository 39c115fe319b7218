import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { chat, ChatHarness, makeAgent } from './chat-harness.ts';

const price = { input_per_mtok: '1', output_per_mtok: '2' };
let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start(
    {},
    {
      models: [
        { id: 'small', provider: 'simulator', aliases: ['tiny', 'old/small'] },
        { id: 'any/*', provider: 'simulator', upstream_model: 'vendor/*', list: ['any/listed'], price },
        { id: 'down/*', provider: 'refusing', fallbacks: ['tiny', 'any/spare'] },
        { id: 'unpriced/*', provider: 'simulator' },
      ],
      embeddings: { model: 'any/embedder' },
    },
  );
});
afterAll(async () => harness.stop());

async function sentFor(
  model: string,
  tenantId = newId(),
): Promise<{ response: Response; upstream: unknown }> {
  const before = harness.simulator.requests.length;
  const response = await harness.post('/v1/chat/completions', chat('hi', { model }), {
    principal: { tenantId },
  });
  const sent = harness.simulator.requests.slice(before).at(-1);
  const upstream =
    sent === undefined ? null : (JSON.parse(String(sent.raw_bytes)) as { model: string }).model;
  return { response, upstream };
}

describe('a completion', () => {
  it('by an alias is one of its model', async () => {
    const { response, upstream } = await sentFor('tiny');
    expect([response.status, upstream, response.headers.get('x-gateway-model')]).toEqual([
      200,
      'small',
      'small',
    ]);
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ request_model: 'tiny', model: 'small' },
    });
  });

  it('by a name behind a pattern reaches the provider by the name in its place, and has a price', async () => {
    const { response, upstream } = await sentFor('any/x-1');
    expect([response.status, upstream]).toEqual([200, 'vendor/x-1']);
    expect(response.headers.get('x-gateway-model')).toBe('any/x-1');
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ model: 'any/x-1', priced: true, price_source: 'catalogue' },
      spans: [{ model: 'any/x-1', upstream_model: 'vendor/x-1' }],
    });
  });

  it('by an unknown name is refused with the nearest that the tenant may use', async () => {
    const messageFor = async (model: string, tenantId = newId()): Promise<string> => {
      const { response } = await sentFor(model, tenantId);
      expect(response.status).toBe(404);
      return ((await response.json()) as { error: { message: string } }).error.message;
    };
    expect(await messageFor('tinny')).toBe(
      'The model "tinny" does not exist. The nearest names are "tiny", "small", "old/small".',
    );
    const tenantId = newId();
    harness.settings.set(tenantId, { allowedModels: { ids: ['any/*'] } });
    expect(await messageFor('tinny', tenantId)).toBe(
      'The model "tinny" does not exist. The nearest name is "any/listed".',
    );
    harness.agents.set('support', makeAgent({ key: 'support' }));
    expect(await messageFor('agent:suport')).toContain('"agent:support"');
    const got = await harness.get('/v1/models/tinny', { tenantId: newId() });
    expect([got.status, await got.text()]).toEqual([404, expect.stringContaining('nearest names')]);
  });

  it('that asks for a long context is one of its model, or of its agent', async () => {
    const { response, upstream } = await sentFor('tiny[1m]');
    expect([response.status, upstream, response.headers.get('x-gateway-ignored')]).toEqual([
      ...[200, 'small', 'context-1m'],
    ]);
    harness.agents.set('long', makeAgent({ key: 'long', model: 'small' }));
    const ofAgent = await sentFor('agent:long[1m]');
    expect([ofAgent.response.status, ofAgent.upstream]).toEqual([200, 'small']);
  });

  it('falls back to aliases and to names behind patterns', async () => {
    const { response } = await sentFor('down/a');
    expect(response.headers.get('x-gateway-model')).toBe('small');
    harness.agents.set('named', makeAgent({ key: 'named', model: 'down/b', modelFallbacks: ['any/c'] }));
    const ofAgent = await sentFor('agent:named');
    expect(ofAgent.response.headers.get('x-gateway-model')).toBe('any/c');
  });

  it.each(['any/../secret', 'any/a b', 'any/*', `any/${'x'.repeat(300)}`, 'nothing'])(
    'by %s is a 404, without a call',
    async (model) => {
      const { response, upstream } = await sentFor(model);
      expect([response.status, upstream]).toEqual([404, null]);
    },
  );

  it('is for tenants whose list has the id or a pattern of it', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, { allowedModels: { ids: ['any/a*', 'small', 'ti*'] } });
    const statuses = ['any/abc', 'any/b', 'tiny', 'unpriced/a'].map(async (model) => {
      const { response } = await sentFor(model, tenantId);
      return response.status;
    });
    expect(await Promise.all(statuses)).toEqual([200, 404, 200, 404]);
  });
});

it('lists have aliases behind their model, and the names that a pattern lists', async () => {
  harness.agents.clear();
  const tenantId = newId();
  const idsOf = async (): Promise<string[]> => {
    const list = (await (await harness.get('/v1/models', { tenantId })).json()) as { data: { id: string }[] };
    return list.data.map(({ id }) => id);
  };
  expect(await idsOf()).toEqual(['small', 'tiny', 'old/small', 'any/listed']);
  harness.settings.set(tenantId, { allowedModels: { ids: ['tiny', 'any/other'] } });
  expect(await idsOf()).toEqual(['small', 'tiny', 'old/small']);
  for (const id of ['old%2Fsmall', 'any/other']) {
    const found = await harness.get(`/v1/models/${id}`, { tenantId });
    expect(await found.json()).toMatchObject({ id: decodeURIComponent(id), owned_by: 'simulator' });
  }
  expect((await harness.get('/v1/models/any/listed', { tenantId })).status).toBe(404);
});

it('metrics show patterns, however many names clients invent', async () => {
  for (const name of ['one', 'two', 'three']) await sentFor(`unpriced/${name}`);
  const lines = (await harness.metrics()).split('\n').filter((line) => line.includes('unpriced/'));
  const labels = new Set(lines.map((line) => /[{,]model="([^"]*)"/.exec(line)?.[1]));
  expect(labels).toEqual(new Set(['unpriced/*']));
  expect(lines.join()).toContain('gatehouse_provider_breaker_open{');
});
