import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { chat, ChatHarness } from './chat-harness.ts';
import { KeyedProvider, type Refusal } from './keyed-provider.ts';

/** The same each time, since the choice depends on it. */
const tenantId = '01900000-0000-7000-8000-000000000001';
const secrets = Object.fromEntries(
  ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'openai', 'anthropic', 'google', 'azure', 'bedrock'].map(
    (name) => [`KEY_${name}`, `sk-secret-${name}`],
  ),
);
const kinds = ['openai', 'anthropic', 'google', 'azure', 'bedrock'] as const;
const keyOf = (name: string): string => `sk-secret-${name}`;

let east: KeyedProvider;
let west: KeyedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  east = await KeyedProvider.start();
  west = await KeyedProvider.start();
  const pool = (...names: string[]) => ({
    ...{ kind: 'openai', max_retries: 2, base_url: east.baseUrl },
    keys: names.map((name, index) => ({ env: `KEY_${name}`, weight: index === 0 ? 2 : 1 })),
  });
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { ...pool('A', 'B', 'C'), name: 'east' },
        { ...pool('D', 'E'), name: 'west', base_url: west.baseUrl },
        { ...pool('F'), name: 'lone' },
        { ...pool('G', 'UNSET'), name: 'half' },
        ...kinds.map((kind) => ({
          ...{
            kind,
            name: kind,
            ...(kind === 'bedrock' && { region: 'eu-west-1' }),
            base_url: east.baseUrl.replace('/v1', ''),
          },
          ...{ keys: [{ env: `KEY_${kind}` }], max_retries: 0 },
        })),
        { kind: 'openai', name: 'single', base_url: east.baseUrl, api_key_env: 'KEY_H', max_retries: 0 },
      ],
      models: [
        { id: 'pool', provider: 'east' },
        { id: 'regions', deployments: [{ provider: 'east' }, { provider: 'west' }] },
        { id: 'lone', provider: 'lone' },
        { id: 'lone-with-fallback', provider: 'lone', fallbacks: ['single'] },
        { id: 'half', provider: 'half' },
        { id: 'single', provider: 'single' },
        ...kinds.map((kind) => ({ id: `of-${kind}`, provider: kind })),
      ],
      embeddings: undefined,
    },
    secrets,
  );
});
beforeEach(() => {
  for (const provider of [east, west]) {
    provider.taken();
    provider.refusals.clear();
  }
});
afterAll(async () => {
  await harness.stop();
  await east.stop();
  await west.stop();
});

async function ask(
  model: string,
  session: string,
  fields: object = {},
  tenant = tenantId,
): Promise<Response> {
  const response = await harness.post('/v1/chat/completions', chat(session, { model, ...fields }), {
    principal: { tenantId: tenant },
    headers: { 'x-session-id': session },
  });
  await response.clone().arrayBuffer();
  return response;
}

const sessionsNamed = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}-${n}`);

/** The key that each session was called with, the last one where it was called with several. */
function keysBySession(): Map<string, string> {
  return new Map([...east.taken(), ...west.taken()].map(({ content, key }) => [content, key]));
}

describe('a provider with several keys, in two regions', () => {
  it('is called by their weights, and a session always with one of them', async () => {
    const sessions = sessionsNamed('s', 300);
    const rounds: Map<string, string>[] = [];
    for (const stream of [false, true, false]) {
      for (const session of sessions) expect((await ask('regions', session, { stream })).status).toBe(200);
      rounds.push(keysBySession());
    }
    const kept = sessions.filter((session) => new Set(rounds.map((round) => round.get(session))).size === 1);
    expect(kept.length / sessions.length).toBeGreaterThanOrEqual(0.99);
    const share = (name: string): number =>
      [...(rounds[0]?.values() ?? [])].filter((key) => key === keyOf(name)).length / sessions.length;
    for (const [name, weight] of [
      ['A', 1 / 4],
      ['B', 1 / 8],
      ['C', 1 / 8],
      ['D', 1 / 3],
      ['E', 1 / 6],
    ] as const)
      expect(Math.abs(share(name) - weight)).toBeLessThan(0.06);
  });
});

describe('a key that is limited', () => {
  it('costs no client an error while another is well, streams included, and rests', async () => {
    const sessions = sessionsNamed('limited', 60);
    const tenant = newId();
    east.refusals.set(keyOf('A'), { status: 429, headers: { 'retry-after': '60' } });
    for (const [n, session] of sessions.entries()) {
      const response = await ask('pool', session, { stream: n % 2 === 0 }, tenant);
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('hello')]);
      const run = await harness.endedRun(response.headers.get('x-run-id'));
      // The call goes on with the next key within its attempt.
      expect(run.spans).toMatchObject([{ status: 'ok', number: 1 }]);
    }
    expect(east.taken().filter(({ key }) => key === keyOf('A'))).toHaveLength(1);
  });

  it('is not called while all rest: the client gets the soonest time', async () => {
    const tenant = newId();
    for (const [name, seconds] of [
      ['A', '50'],
      ['B', '20'],
      ['C', '30'],
    ] as const)
      east.refusals.set(keyOf(name), { status: 429, headers: { 'retry-after': seconds } });
    const first = await ask('pool', 'all', {}, tenant);
    expect([first.status, first.headers.get('retry-after')]).toEqual([429, '20']);
    expect(east.taken()).toHaveLength(3);
    const second = await ask('pool', 'all again', { stream: true }, tenant);
    expect(second.status).toBe(429);
    expect(Number(second.headers.get('retry-after'))).toBeLessThanOrEqual(20);
    expect(east.taken()).toEqual([]);
    // A request of another tenant may be one that the limit allows.
    east.refusals.clear();
    expect((await ask('pool', 'other', {}, newId())).status).toBe(200);
  });

  it('is passed over by the chain while it rests', async () => {
    const tenant = newId();
    east.refusals.set(keyOf('F'), { status: 429, headers: { 'retry-after': '60' } });
    expect((await ask('lone', 'x', {}, tenant)).status).toBe(429);
    const response = await ask('lone-with-fallback', 'x', {}, tenant);
    // The limit is that of the provider's model, which has another name.
    expect(response.headers.get('x-gateway-model')).toBe('single');
    const again = await ask('lone-with-fallback', 'x', {}, tenant);
    expect(again.headers.get('x-gateway-model')).toBe('single');
    const run = await harness.endedRun(again.headers.get('x-run-id'));
    expect(run.spans).toMatchObject([{ provider: 'single', status: 'ok' }]);
  });
});

describe('a key that is refused', () => {
  it('rests, is reported once by its position, and its text is nowhere', async () => {
    const tenant = newId();
    east.refusals.set(keyOf('G'), { status: 401 });
    const response = await ask('half', 'y', {}, tenant);
    expect(response.status).toBe(502);
    expect(await response.text()).toContain('provider_authentication');
    expect((await ask('half', 'y', {}, tenant)).status).toBe(502);
    expect(east.taken()).toHaveLength(1);
    // Others may have the key accepted, until three tenants have not.
    for (let n = 0; n < 5; n += 1) expect((await ask('half', `y-${n}`, {}, newId())).status).toBe(502);
    expect(east.taken()).toHaveLength(2);
    const about = () =>
      harness
        .alertsOf(null, 'provider_key.failing')
        .map(({ data }) => data)
        .filter(({ provider }) => provider === 'half')
        .sort((a, b) => Number(a['key']) - Number(b['key']));
    await eventually(() => expect(about()).toHaveLength(2));
    await harness.flushAlerts();
    expect(about()).toEqual([
      { provider: 'half', key: 1, provider_key_id: null, prefix: null },
      { provider: 'half', key: 2, provider_key_id: null, prefix: null },
    ]);
    const metrics = await harness.metrics();
    expect(metrics).not.toContain('sk-secret');
    expect(metrics).toMatch(
      /gatehouse_provider_key_resting\{provider="half",key="1",reason="refused".*\} 1\n/,
    );
    expect(metrics).toMatch(
      /gatehouse_provider_key_resting\{provider="half",key="1",reason="limited".*\} 0\n/,
    );
    expect(metrics).toMatch(
      /gatehouse_provider_key_calls_total\{provider="half",key="1",outcome="refused".*\} 3\n/,
    );
    expect(metrics).toMatch(
      /deployment_calls_total\{provider="half",model="half",outcome="provider_auth\w+".*\} 3\n/,
    );
    expect(JSON.stringify(await harness.endedRuns('true'))).not.toContain('sk-secret');
  });

  const ofGoogle = (reason: string) => ({
    error: { code: 400, message: 'm', status: 'INVALID_ARGUMENT', details: [{ reason }] },
  });
  it('does not rest for a wrong request, which Google has the same status for', async () => {
    east.refusals.set(keyOf('google'), { status: 400, body: ofGoogle('OTHER') });
    for (const tenant of [newId(), newId()])
      expect((await ask('of-google', 'x', {}, tenant)).status).toBe(400);
    expect(east.taken()).toHaveLength(2);
  });

  it.each<[kind: (typeof kinds)[number], what: string, refusal: Refusal]>([
    ['google', 'wrong', { status: 400, body: ofGoogle('API_KEY_INVALID') }],
    [
      'bedrock',
      'wrong',
      { status: 403, headers: { 'x-amzn-errortype': 'UnrecognizedClientException' }, body: { message: 'm' } },
    ],
    ['azure', 'wrong', { status: 401, body: { error: { code: '401', message: 'm' } } }],
    ['openai', 'spent', { status: 429, body: { error: { code: 'insufficient_quota' } } }],
    [
      'anthropic',
      'spent',
      { status: 400, body: { error: { message: 'Your credit balance is too low to access the API.' } } },
    ],
  ])('rests in the words of %s, %s', async (kind, _what, refusal) => {
    east.refusals.set(keyOf(kind), refusal);
    const [first, second] = [newId(), newId()];
    const asked = await ask(`of-${kind}`, 'x', {}, first);
    expect([asked.status, await asked.text()]).toEqual([502, expect.stringContaining('provider_auth')]);
    east.taken();
    // A key may not be for one request, or its account have too little left for it.
    for (const tenant of [first, second]) await ask(`of-${kind}`, 'y', {}, tenant);
    expect(east.taken()).toHaveLength(1);
    await eventually(() =>
      expect(
        harness.alertsOf(null, 'provider_key.failing').filter(({ data }) => data['provider'] === kind),
      ).toHaveLength(1),
    );
  });

  it('costs no client an error while another is well', async () => {
    west.refusals.set(keyOf('D'), { status: 403 });
    const tenant = newId();
    for (const session of sessionsNamed('refused', 20))
      expect((await ask('regions', session, { stream: true }, tenant)).status).toBe(200);
    expect(west.taken().filter(({ key }) => key === keyOf('D'))).toHaveLength(1);
  });
});

it('a provider with one key is called with it each time, and its 429 is passed on', async () => {
  east.refusals.set(keyOf('H'), { status: 429, headers: { 'retry-after': '60' } });
  for (let n = 0; n < 3; n += 1) {
    const response = await ask('single', 'z');
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '60']);
  }
  expect(east.taken()).toHaveLength(3);
});
