import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { providerDeploymentList, type ProviderDeployment } from '@gatehouse/contract/owner-providers';
import { newId } from '@gatehouse/kit/ids';
import { freePort } from '@gatehouse/local/ports';
import { eventually } from '@gatehouse/test/eventually';
import { chat, ChatHarness } from './chat-harness.ts';
import { KeyedProvider } from './keyed-provider.ts';

let provider: KeyedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await KeyedProvider.start();
  const openai = { kind: 'openai', base_url: provider.baseUrl, max_retries: 0 };
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { ...openai, name: 'pool', keys: [{ env: 'KEY_A' }, { env: 'KEY_B' }, { env: 'KEY_C' }] },
        { ...openai, name: 'down', base_url: `http://127.0.0.1:${await freePort()}/v1` },
      ],
      models: [
        { id: 'pool', provider: 'pool' },
        { id: 'same', provider: 'pool', upstream_model: 'pool' },
        { id: 'own-*', provider: 'pool' },
        { id: 'down', provider: 'down' },
      ],
      embeddings: undefined,
    },
    { KEY_A: 'sk-a', KEY_B: 'sk-b', KEY_C: 'sk-c' },
  );
});
afterAll(async () => {
  await harness.stop();
  await provider.stop();
});

async function ask(model: string, url = harness.url): Promise<number> {
  const options = { principal: { tenantId: newId() }, url };
  const response = await harness.post('/v1/chat/completions', chat('hello', { model }), options);
  await response.arrayBuffer();
  return response.status;
}

async function deployments(): Promise<ProviderDeployment[]> {
  const response = await harness.get('/internal/v1/owner/providers', { role: 'owner' });
  expect(response.status).toBe(200);
  return providerDeploymentList.parse(await response.json()).data;
}

it('shows the owner the calls, breakers and keys of each deployment over all replicas', async () => {
  const other = await harness.startReplica();
  const otherUrl = `http://127.0.0.1:${other.httpPort}`;
  for (const url of [harness.url, otherUrl]) {
    for (let n = 0; n < 3; n += 1) expect(await ask(n === 0 ? 'same' : 'pool', url)).toBe(200);
    for (let n = 0; n < 12; n += 1) expect(await ask('down', url)).toBe(502);
  }
  expect(await ask('own-x')).toBe(200);
  await eventually(async () => {
    expect((await deployments()).map(({ calls }) => calls)).toEqual([6, 1, 24]);
  });
  const [pool, pattern, down] = await deployments();
  expect(pool).toMatchObject({
    ...{ provider: 'pool', upstream_model: 'pool', models: ['pool', 'same'], breaker: 'closed', errors: {} },
    keys: [1, 2, 3].map((position) => ({ position, status: 'active', rests_until: null })),
    first_byte_ms: { p50: expect.any(Number), p99: expect.any(Number) },
    tokens_per_second: expect.any(Number),
  });
  expect(pattern).toMatchObject({ upstream_model: 'own-*', models: ['own-*'] });
  expect(down).toMatchObject({
    ...{ provider: 'down', breaker: 'open', keys: [], errors: { provider_unreachable: 24 } },
    ...{ first_byte_ms: { p50: null, p99: null }, tokens_per_second: null },
  });
});

it('shows which keys rest and until when, and no other role', async () => {
  provider.refusals.set('sk-a', { status: 429, headers: { 'retry-after': '600' } });
  provider.refusals.set('sk-b', { status: 401 });
  for (let n = 0; n < 12; n += 1) expect(await ask('pool')).toBe(200);
  await eventually(async () => {
    const [pool] = await deployments();
    expect(pool?.keys.map(({ status }) => status)).toEqual(['resting', 'failing', 'active']);
  });
  const [pool] = await deployments();
  const rests = (pool?.keys ?? []).map(({ rests_until: until }) =>
    until === null ? null : Date.parse(until) - Date.now(),
  );
  expect(rests[0]).toBeGreaterThan(500_000);
  expect(rests[1]).toBeLessThan(61_000);
  expect(rests[2]).toBeNull();
  for (const role of ['admin', 'user'] as const)
    expect((await harness.get('/internal/v1/owner/providers', { role })).status).toBe(403);
});
