import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { chat, ChatHarness } from './chat-harness.ts';
import { KeyedProvider, type Refusal } from './keyed-provider.ts';

/** The same each time, since the choice depends on it. */
const principal = { tenantId: '01900000-0000-7000-8000-000000000001' };
const key = { kind: 'openai', api_key_env: 'UNUSED', max_retries: 0 };

let east: KeyedProvider;
let west: KeyedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  east = await KeyedProvider.start();
  west = await KeyedProvider.start();
  const deployments = [{ provider: 'east' }, { provider: 'west', upstream_model: 'm-west', weight: 3 }];
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { ...key, name: 'east', base_url: east.baseUrl },
        { ...key, name: 'west', base_url: west.baseUrl },
      ],
      models: [
        { id: 'm', deployments, fallbacks: ['last'] },
        { id: 'last', provider: 'west' },
        { id: 'e', deployments },
        { id: 'gone', deployments: [{ provider: 'east', weight: 1_000 }, { provider: 'west' }] },
        { id: 'odd', deployments: [{ provider: 'east', weight: 1_000 }, { provider: 'west' }] },
        { id: 'behind-*', provider: 'east', fallbacks: ['last'] },
        { id: 'both', deployments: [{ provider: 'east' }, { provider: 'west' }] },
      ],
      embeddings: { model: 'e' },
    },
  );
});
beforeEach(() => {
  east.taken();
  west.taken();
});
afterAll(async () => {
  await harness.stop();
  await east.stop();
  await west.stop();
});

/** Asks in a session; returns the status and the provider that answered. */
async function ask(
  session: string | null,
  fields: object = {},
  url?: string,
): Promise<[number, string | null]> {
  const response = await harness.post('/v1/chat/completions', chat('hello', { model: 'm', ...fields }), {
    principal,
    ...(session !== null && { headers: { 'x-session-id': session } }),
    ...(url !== undefined && { url }),
  });
  await response.arrayBuffer();
  return [response.status, response.headers.get('x-gateway-provider')];
}

const sessionsNamed = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}-${n}`);

/** The providers that answer these sessions, one after the other. Fails unless each of them is answered. */
async function providersOf(sessions: readonly string[], url?: string): Promise<(string | null)[]> {
  const providers: (string | null)[] = [];
  for (const session of sessions) {
    const [status, provider] = await ask(session, { stream: providers.length % 2 === 1 }, url);
    expect(status).toBe(200);
    providers.push(provider);
  }
  return providers;
}

describe('a model with deployments', () => {
  it('is called by their weights, and a session always at one of them, on each replica', async () => {
    const sessions = sessionsNamed('s', 300);
    const first = await providersOf(sessions);
    const share = first.filter((provider) => provider === 'west').length / first.length;
    expect(Math.abs(share - 3 / 4)).toBeLessThan(0.05);
    expect(new Set(west.taken().map(({ model }) => model))).toEqual(new Set(['m-west']));
    expect(new Set(east.taken().map(({ model }) => model))).toEqual(new Set(['m']));
    const other = await harness.startReplica();
    expect(await providersOf(sessions, `http://127.0.0.1:${other.httpPort}`)).toEqual(first);
    expect(await providersOf(sessions)).toEqual(first);
  });

  it('stays with one for a conversation without a session, and is divided for others', async () => {
    const providers = new Set<string | null>();
    for (let n = 0; n < 20; n += 1) {
      const began = [{ role: 'user', content: `question ${n}` }];
      const [, first] = await ask(null, { messages: began });
      const [, second] = await ask(null, {
        messages: [...began, { role: 'assistant', content: 'hello' }, { role: 'user', content: 'and?' }],
      });
      expect(second).toBe(first);
      providers.add(first);
    }
    expect(providers).toEqual(new Set(['east', 'west']));
  });

  it('goes on with a response at the provider that made it, whatever else the request says', async () => {
    const respond = async (body: object): Promise<[string | null, string]> => {
      const response = await harness.post(
        '/v1/responses',
        { model: 'm', ...body },
        {
          principal,
          headers: { 'x-gatehouse-dialect': 'responses' },
        },
      );
      expect(response.status).toBe(200);
      return [response.headers.get('x-gateway-provider'), ((await response.json()) as { id: string }).id];
    };
    const providers = new Set<string | null>();
    for (let n = 0; n < 12; n += 1) {
      const [first, id] = await respond({ input: `question ${n}` });
      const [second] = await respond({ input: 'and?', instructions: 'Be brief.', previous_response_id: id });
      expect(second).toBe(first);
      providers.add(first);
    }
    expect(providers).toEqual(new Set(['east', 'west']));
  });

  it('records the provider and its name of the model, as they were called', async () => {
    const response = await harness.post('/v1/chat/completions', chat('hello', { model: 'm' }), { principal });
    await response.arrayBuffer();
    const provider = response.headers.get('x-gateway-provider');
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    expect(run).toMatchObject({
      ...{ provider, model: 'm', request_model: 'm' },
      spans: [{ provider, model: 'm', upstream_model: provider === 'west' ? 'm-west' : 'm' }],
    });
  });

  it('goes on at the others while a region is down, and comes back to it by a probe', async () => {
    const sessions = sessionsNamed('region', 60);
    const before = await providersOf(sessions);
    await west.stop();
    try {
      expect(new Set(await providersOf(sessions))).toEqual(new Set(['east']));
      expect(east.taken().every(({ model }) => model === 'm')).toBe(true);
    } finally {
      await west.goOn();
    }
    // Sessions stay at the region that has their prompt; new ones are divided again once a probe came through.
    expect(new Set(await providersOf(sessions.filter((_session, n) => before[n] === 'west')))).toEqual(
      new Set(['east']),
    );
    const back = await providersOf(sessionsNamed('new', 80));
    expect(back.slice(0, 40)).toContain('west');
    const share = back.slice(40).filter((provider) => provider === 'west').length / 40;
    expect(share).toBeGreaterThan(0.5);
  });

  it('goes on with its fallbacks only where no deployment answers', async () => {
    east.refusals.set('provider-key', { status: 500 });
    const models: string[] = [];
    try {
      for (let n = 0; n < 10; n += 1) expect((await ask(`failing-${n}`))[0]).toBe(200);
      models.push(...west.taken().map(({ model }) => model));
    } finally {
      east.refusals.clear();
    }
    expect(new Set(models)).toEqual(new Set(['m-west']));
  });

  const lacking = (code: string, status = 404): Refusal => ({
    status,
    body: { error: { code, message: 'The API deployment for this resource does not exist.' } },
  });

  it('goes on at the others without one that is deleted, which is then called now and then', async () => {
    east.refusals.set('provider-key', lacking('DeploymentNotFound'));
    try {
      for (let n = 0; n < 6; n += 1)
        expect(await ask(`gone-${n}`, { model: 'gone', stream: n % 2 === 1 })).toEqual([200, 'west']);
      expect(east.taken().length).toBeLessThan(4);
    } finally {
      east.refusals.clear();
    }
    const metrics = await harness.metrics();
    expect(metrics).toContain(
      'gatehouse_provider_breaker_open{provider="east",model="gone",service="chat"} 1',
    );
  });

  it.each([
    ['OperationNotSupported', 400],
    ['NotFound', 404],
    ['Gone', 410],
  ])('goes on at the others after %s', async (code, status) => {
    east.refusals.set('provider-key', lacking(code, status));
    try {
      expect(await ask(`odd-${code}`, { model: 'odd' })).toEqual([200, 'west']);
    } finally {
      east.refusals.clear();
    }
    const metrics = await harness.metrics();
    expect(metrics).toContain(
      'gatehouse_provider_breaker_open{provider="east",model="odd",service="chat"} 0',
    );
  });

  it('is a 404 where all deployments lack it, and where a client named it behind a pattern', async () => {
    for (const provider of [east, west]) provider.refusals.set('provider-key', lacking('model_not_found'));
    try {
      expect((await ask('none', { model: 'both' }))[0]).toBe(404);
      west.refusals.clear();
      west.taken();
      expect((await ask('invented', { model: 'behind-nothing' }))[0]).toBe(404);
      expect(west.taken()).toEqual([]);
    } finally {
      east.refusals.clear();
      west.refusals.clear();
    }
  });

  it('is reported as it failed where a deployment is missing and another fails', async () => {
    east.refusals.set('provider-key', lacking('model_not_found'));
    west.refusals.set('provider-key', { status: 529 });
    try {
      expect((await ask('both', { model: 'both' }))[0]).toBe(503);
    } finally {
      east.refusals.clear();
      west.refusals.clear();
    }
  });
});
