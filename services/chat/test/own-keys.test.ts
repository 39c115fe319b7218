import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { KeyVerdict } from '@gatehouse/proto/chat/v1/chat';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { sealProviderKey } from '@gatehouse/secrets/provider-key';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import { chat, ChatHarness } from './chat-harness.ts';
import { KeyedProvider } from './keyed-provider.ts';

const platformKey = 'sk-platform';

let east: KeyedProvider;
let west: KeyedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  east = await KeyedProvider.start();
  west = await KeyedProvider.start();
  const price = { input_per_mtok: '1', output_per_mtok: '2' };
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { kind: 'openai', name: 'east', base_url: east.baseUrl, api_key_env: 'PLATFORM', max_retries: 2 },
        { kind: 'openai', name: 'west', base_url: west.baseUrl, api_key_env: 'PLATFORM', max_retries: 0 },
        { kind: 'vertex', name: 'vertex', project: 'p', region: 'eu', credentials_file: '/nowhere' },
        { kind: 'bedrock', name: 'bedrock', region: 'eu-west-1', api_key_env: 'PLATFORM' },
      ],
      models: [
        { id: 'm', provider: 'east', price, fallbacks: ['spare'] },
        { id: 'other', provider: 'east', price },
        { id: 'spare', provider: 'west', price },
        { id: 'divided', deployments: [{ provider: 'east' }, { provider: 'west', weight: 99 }], price },
        { id: 'unpriced', provider: 'east' },
        { id: 'v', provider: 'vertex' },
        { id: 'b', provider: 'bedrock' },
      ],
      embeddings: undefined,
    },
    { PLATFORM: platformKey },
  );
});
beforeEach(() => {
  for (const provider of [east, west]) {
    provider.taken();
    provider.refusals.clear();
  }
  harness.keyUses.uses.length = 0;
});
afterAll(async () => {
  await harness.stop();
  await east.stop();
  await west.stop();
});

interface Given {
  provider?: string;
  models?: string[];
  userId?: string;
}

/** A tenant with keys of its own, the newest first, each with a text of its own. */
function tenantWith(...given: Given[]) {
  const tenantId = newId();
  const ring = KeyRing.parse(harness.identity.keyRing);
  const keys = given.map(({ provider = 'east', models = [], userId }) => {
    const id = newId();
    const text = `sk-canary-${id}`;
    return { id, text, provider, models, userId, sealed: sealProviderKey(ring, { tenantId, id }, text) };
  });
  harness.settings.set(tenantId, { providerKeys: keys.map(({ text: _text, ...key }) => key) });
  const ask = async (fields: Record<string, unknown> = {}, userId: string | null = null) => {
    const principal = { tenantId, userId };
    const response = await harness.post('/v1/chat/completions', chat('hello', { model: 'm', ...fields }), {
      principal,
    });
    const text = await response.text();
    return { status: response.status, text, headers: response.headers };
  };
  return { tenantId, keys, ask };
}

const keysAt = (provider: KeyedProvider): string[] => provider.taken().map(({ key }) => key);
const runOf = (headers: Headers) => harness.endedRun(headers.get('x-run-id'));

describe("a tenant's own key", () => {
  it('is used for its provider by its tenant alone, whole and streamed, and its runs say so', async () => {
    const { keys, ask } = tenantWith({});
    const platform = tenantWith();
    const [own] = keys;
    for (const stream of [false, true]) {
      const answer = await ask({ stream });
      expect(answer.status).toBe(200);
      expect(await runOf(answer.headers)).toMatchObject({ own_key: true, cost_pico: '3000000' });
    }
    expect(keysAt(east)).toEqual([own?.text, own?.text]);
    const other = await platform.ask();
    expect(keysAt(east)).toEqual([platformKey]);
    expect(await runOf(other.headers)).not.toHaveProperty('own_key');
    await eventually(() => expect(harness.keyUses.uses).toContainEqual({ id: own?.id, refused: false }));
  });

  it('is for its models and its user, one for the user before one for all, and the newest first', async () => {
    const { keys, ask } = tenantWith({}, {}, { userId: 'ada' }, { models: ['other'], provider: 'west' });
    const [newest, , adas] = keys.map(({ text }) => text);
    await ask();
    await ask({}, 'bob');
    await ask({}, 'ada');
    expect(keysAt(east)).toEqual([newest, newest, adas]);
    const limited = tenantWith({ models: ['other'] }, { models: ['m'], userId: 'ada' });
    await limited.ask();
    await limited.ask({ model: 'other' });
    await limited.ask({}, 'ada');
    expect(keysAt(east)).toEqual([platformKey, limited.keys[0]?.text, limited.keys[1]?.text]);
  });

  it('never gives way to a key of the platform', async () => {
    const { tenantId, keys, ask } = tenantWith({});
    const [own] = keys;
    east.refusals.set(own?.text ?? '', { status: 401 });
    for (const stream of [false, true]) {
      const refused = await ask({ stream });
      expect(refused.status).toBe(502);
      expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'provider_key_failing' } });
      expect(refused.text).not.toContain('canary');
    }
    // It rests after the first.
    expect(keysAt(east)).toEqual([own?.text]);
    expect(keysAt(west)).toEqual([]);
    await eventually(() => {
      expect(harness.keyUses.uses.filter(({ id }) => id === own?.id)).toEqual([
        { id: own?.id, refused: true },
      ]);
    });
    const [run] = await harness.endedRuns('tenant_id = $1', [tenantId]);
    expect(run).toMatchObject({ own_key: true, status: 'error', error_type: 'provider_key_failing' });
    expect(await harness.rows("select 1 from chat.outbox where data::text like '%canary%'")).toEqual([]);
    expect(harness.alertsOf(null, 'provider_key.failing')).toEqual([]);
  });

  it('that is limited gets 429 with the time of the provider, and no key of the platform', async () => {
    const { keys, ask } = tenantWith({});
    east.refusals.set(keys[0]?.text ?? '', { status: 429, headers: { 'retry-after': '30' } });
    const limited = await ask();
    expect(limited.status).toBe(429);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(25);
    expect([...keysAt(east), ...keysAt(west)]).toEqual([keys[0]?.text]);
  });

  it('goes on with a fallback or a deployment that the tenant has a key for, too', async () => {
    const { keys, ask } = tenantWith({}, { provider: 'west' });
    const [atEast, atWest] = keys.map(({ text }) => text);
    east.refusals.set(atEast ?? '', { status: 500 });
    expect((await ask()).status).toBe(200);
    expect(keysAt(west)).toEqual([atWest]);
    east.taken();
    east.refusals.clear();
    const one = tenantWith({});
    for (let n = 0; n < 5; n += 1) expect((await one.ask({ model: 'divided' })).status).toBe(200);
    expect(new Set(keysAt(east))).toEqual(new Set([one.keys[0]?.text]));
    expect(keysAt(west)).toEqual([]);
  });

  it('leaves out the fallbacks that the tenant would pay, where the platform pays', async () => {
    const { ask } = tenantWith({ provider: 'west' });
    east.refusals.set(platformKey, { status: 500 });
    expect((await ask()).status).toBe(502);
    expect(keysAt(west)).toEqual([]);
  });

  it('is not held by budgets, and needs no price', async () => {
    const { tenantId, ask } = tenantWith({});
    harness.settings.set(tenantId, { ...harness.settings.get(tenantId), limited: [Resource.BUDGET] });
    harness.usedUp.add(tenantId);
    expect((await ask()).status).toBe(200);
    expect((await ask({ model: 'unpriced' })).status).toBe(200);
    expect(harness.settlements.filter((each) => each.tenantId === tenantId)).toEqual([]);
    const { tenantId: paid, ask: askPaid } = tenantWith();
    harness.settings.set(paid, { limited: [Resource.BUDGET] });
    harness.usedUp.add(paid);
    expect((await askPaid()).status).toBe(429);
  });

  it('that cannot be opened fails as one that is refused', async () => {
    const { tenantId, ask } = tenantWith({});
    const foreign = tenantWith({});
    const [key] = harness.settings.get(foreign.tenantId)?.providerKeys ?? [];
    harness.settings.set(tenantId, { providerKeys: key === undefined ? [] : [{ ...key, id: newId() }] });
    expect(await ask()).toMatchObject({ status: 502, text: expect.stringContaining('provider_key_failing') });
    expect(keysAt(east)).toEqual([]);
  });
});

describe('the check of a key', () => {
  async function check(provider: string, { text = 'sk-good', models = [] as string[] } = {}) {
    const tenantId = newId();
    const id = newId();
    const sealed = sealProviderKey(KeyRing.parse(harness.identity.keyRing), { tenantId, id }, text);
    const tenant = await harness.peer('tenant');
    const assertion = await harness.identity.assertion(makePrincipal({ tenantId }));
    return tenant.call(
      'checkProviderKey',
      { id, provider, sealed, models },
      { deadlineMs: 5_000, assertion },
    );
  }

  it('asks the provider by a call that costs nothing, where it has one', async () => {
    expect(await check('east')).toEqual({ verdict: KeyVerdict.ACCEPTED });
    east.refusals.set('sk-bad', { status: 401 });
    expect(await check('east', { text: 'sk-bad' })).toEqual({ verdict: KeyVerdict.REFUSED });
    east.refusals.set('sk-odd', { status: 500 });
    expect(await check('east', { text: 'sk-odd' })).toEqual({ verdict: KeyVerdict.UNCHECKED });
    expect(east.taken()).toEqual([]);
    expect(await check('bedrock')).toEqual({ verdict: KeyVerdict.UNCHECKED });
    expect(await check('vertex')).toEqual({ verdict: KeyVerdict.NO_KEYS });
    await west.stop();
    expect(await check('west')).toEqual({ verdict: KeyVerdict.UNCHECKED });
    await west.goOn();
  });

  it('refuses a provider and models that the tenant cannot use', async () => {
    expect(await check('nowhere')).toEqual({ verdict: KeyVerdict.UNKNOWN_PROVIDER });
    expect(await check('east', { models: ['m', 'spare'] })).toEqual({
      ...{ verdict: KeyVerdict.UNCHECKED, unknownModel: 'spare' },
    });
  });
});
