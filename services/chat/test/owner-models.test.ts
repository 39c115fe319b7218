import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ownerModelList, type OwnerModel } from '@gatehouse/contract/owner-models';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { chat, ChatHarness } from './chat-harness.ts';
import { KeyedProvider } from './keyed-provider.ts';

let provider: KeyedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await KeyedProvider.start();
  const openai = { kind: 'openai', base_url: provider.baseUrl, keys: [{ env: 'KEY_A' }, { env: 'KEY_B' }] };
  const price = { input_per_mtok: '1', output_per_mtok: '2' };
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { ...openai, name: 'one' },
        { ...openai, name: 'two' },
        { ...openai, name: 'public', base_url: 'https://api.openai.com/v1' },
      ],
      models: [
        { id: 'priced', aliases: ['small'], provider: 'one', price, fallbacks: ['listed'] },
        { id: 'open-*', deployments: [{ provider: 'one', weight: 2 }, { provider: 'two' }] },
        { id: 'listed', provider: 'public', upstream_model: 'gpt-4.1-mini' },
      ],
      embeddings: undefined,
    },
    { KEY_A: 'sk-a', KEY_B: 'sk-b' },
  );
});
afterAll(async () => {
  await harness.stop();
  await provider.stop();
});

async function ask(model: string, url: string): Promise<number> {
  const options = { principal: { tenantId: newId() }, url };
  const response = await harness.post('/v1/chat/completions', chat('hello', { model }), options);
  await response.arrayBuffer();
  return response.status;
}

async function models(): Promise<OwnerModel[]> {
  const response = await harness.get('/internal/v1/owner/models', { role: 'owner' });
  expect(response.status).toBe(200);
  return ownerModelList.parse(await response.json()).data;
}

it('shows the owner each deployment with its price, and calls without one over all replicas', async () => {
  const other = await harness.startReplica();
  for (const url of [harness.url, `http://127.0.0.1:${other.httpPort}`])
    for (let n = 0; n < 6; n += 1) {
      expect(await ask('small', url)).toBe(200);
      expect(await ask('open-x', url)).toBe(200);
    }
  await eventually(async () => {
    const all = (await models()).flatMap(({ deployments }) => deployments);
    expect(all.reduce((sum, { calls }) => sum + calls, 0)).toBe(24);
  });
  const [priced, open, listed] = await models();
  expect(priced).toEqual({
    ...{ id: 'priced', aliases: ['small'], fallbacks: ['listed'] },
    deployments: [
      {
        ...{ provider: 'one', upstream_model: 'priced', weight: 1, calls: 12, unpriced_calls: 0 },
        price: {
          ...{ source: 'catalogue', version: expect.stringMatching(/^catalogue:[0-9a-f]{16}$/) },
          usd_per_mtok: {
            input: '1.000000000000',
            cached_input: expect.any(String),
            output: '2.000000000000',
          },
        },
      },
    ],
  });
  expect(open?.deployments).toMatchObject([
    { provider: 'one', upstream_model: 'open-*', weight: 2, price: null },
    { provider: 'two', upstream_model: 'open-*', weight: 1, price: null },
  ]);
  for (const { calls, unpriced_calls: unpriced } of open?.deployments ?? []) expect(unpriced).toBe(calls);
  expect(listed?.deployments).toMatchObject([
    { price: { source: 'genai-prices', version: expect.stringMatching(/^genai-prices@\d/) }, calls: 0 },
  ]);
});

it('shows them to no other role', async () => {
  for (const role of ['admin', 'user'] as const)
    expect((await harness.get('/internal/v1/owner/models', { role })).status).toBe(403);
});
