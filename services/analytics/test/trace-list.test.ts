import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Trace } from '@gatehouse/contract/traces';
import type { RunEnded } from '@gatehouse/events/run-event';
import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { TraceListPgStore } from '../src/traces/trace-list-pg-store.ts';
import type { TraceListStore } from '../src/traces/trace-list-store.ts';
import { AnalyticsHarness } from './analytics-harness.ts';
import { describeStores, postgres, type Engine } from './describe-stores.ts';
import { correction, makeEnd, makeStart } from './event-fixture.ts';

let analytics: AnalyticsHarness;
function openWith(engine: Engine): void {
  beforeAll(async () => {
    analytics = await AnalyticsHarness.start(undefined, engine);
  });
  afterAll(() => analytics.stop());
}

interface List {
  data: Trace[];
  has_more: boolean;
  next_cursor: string | null;
}

const at = (minutesAgo: number): string => new Date(Date.now() - minutesAgo * 60_000).toISOString();

const pathOf = (query: Record<string, string>): string =>
  `/v1/traces?${new URLSearchParams(query).toString()}`;

async function list(
  tenantId: string,
  query: Record<string, string> = {},
  as: Partial<Principal> = { role: 'admin' },
): Promise<List> {
  return (await analytics.get(pathOf(query), { tenantId, ...as })) as List;
}

async function ids(...input: Parameters<typeof list>): Promise<string[]> {
  return (await list(...input)).data.map(({ id }) => id);
}

/** Ids of all pages. */
async function allIds(tenantId: string, query: Record<string, string>): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: List = await list(tenantId, { ...query, ...(cursor !== '' && { cursor }) });
    expect(page.has_more).toBe(page.next_cursor !== null);
    found.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
  }
  return found;
}

/** Stores runs of a new tenant, the first one as the newest, and returns their ids. */
async function store(...fields: Partial<RunEnded>[]): Promise<{ tenantId: string; runs: string[] }> {
  const tenantId = newId();
  const runs = fields.map((each, index) =>
    makeEnd({ tenant_id: tenantId, started_at: at(index + 1), ended_at: at(index), ...each }),
  );
  await analytics.store(...runs);
  return { tenantId, runs: runs.map(({ run_id: id }) => id) };
}

async function errorOf(
  tenantId: string,
  query: Record<string, string>,
  as: Partial<Principal> = { role: 'admin' },
) {
  const { status, body } = await analytics.call('GET', pathOf(query), { as: { tenantId, ...as } });
  return { status, ...(body as { error: { code: string; param: string } }).error };
}

describeStores('lists of traces', (engine) => {
  openWith(engine);

  describe('the list of traces', () => {
    it('has the runs of the last 24 hours, newest first, also those under way', async () => {
      const { tenantId, runs } = await store({}, { started_at: at(23 * 60) }, { started_at: at(25 * 60) });
      const running = makeStart({ tenant_id: tenantId });
      await analytics.store(running);
      expect(await ids(tenantId)).toEqual([running.run_id, ...runs.slice(0, 2)]);
      expect(await ids(newId())).toEqual([]);
    });

    it('has the runs from a time on and before another one', async () => {
      const [older, newer] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'];
      const { tenantId, runs } = await store({ started_at: newer }, { started_at: older });
      expect(await ids(tenantId, { from: older, to: newer })).toEqual([runs[1]]);
      expect(await ids(tenantId, { from: older, to: '2026-01-02T00:00:00.001Z' })).toEqual(runs);
    });

    it('pages through runs of one moment without a repeat, while others are added', async () => {
      const started = at(1);
      const { tenantId, runs } = await store(
        ...Array.from({ length: 7 }, () => ({ started_at: started, ended_at: at(0) })),
      );
      const first = await list(tenantId, { limit: '3' });
      await analytics.store(makeEnd({ tenant_id: tenantId }));
      const rest = await allIds(tenantId, { limit: '3' });
      expect(rest).toHaveLength(8);
      const second = await list(tenantId, { limit: '200', cursor: first.next_cursor ?? '' });
      const seen = [...first.data, ...second.data].map(({ id }) => id);
      expect(seen).toEqual(runs.toSorted().reverse());
      expect(second).toMatchObject({ has_more: false, next_cursor: null });
    });

    it.each<[string, Partial<RunEnded>, Record<string, string>]>([
      ['the requested model', { request_model: 'agent:a' }, { model: 'agent:a' }],
      ['the model that answered', { model: 'large' }, { model: 'large' }],
      ['provider', { provider: 'anthropic' }, { provider: 'anthropic' }],
      ['user', { user_id: 'ada' }, { user_id: 'ada' }],
      ['session', { session_id: 'order-1' }, { session_id: 'order-1' }],
      ['channel', { channel: 'webhook' }, { channel: 'webhook' }],
      ['dialect', { dialect: 'messages' }, { dialect: 'messages' }],
      ['status', { status: 'cancelled' }, { status: 'cancelled' }],
      ['error code', { status: 'error', error_type: 'upstream_error' }, { error_code: 'upstream_error' }],
      ['cost', { cost_pico: '2000000000000' }, { min_cost_usd: '1.5' }],
      [
        'duration',
        { started_at: '2026-01-01T00:00:00.000Z', ended_at: '2026-01-01T00:00:09.000Z', duration_ms: 9_000 },
        { min_duration_ms: '9000', from: '2025-12-31T00:00:00Z', to: '2026-01-03T00:00:00Z' },
      ],
    ])('is filtered by %s', async (_name, fields, query) => {
      const tenantId = newId();
      const start = fields.started_at ?? at(1);
      const other = makeEnd({ tenant_id: tenantId, started_at: start, ended_at: start, duration_ms: 0 });
      const run = makeEnd({ tenant_id: tenantId, started_at: start, ended_at: start, ...fields });
      await analytics.store(other, run);
      const wide = { from: '2025-12-31T00:00:00Z', to: new Date(Date.now() + 60_000).toISOString() };
      expect(await ids(tenantId, { ...wide, ...query })).toEqual([run.run_id]);
    });

    it('is filtered by agent and API key', async () => {
      const [agent, key] = [newId(), newId()];
      const { tenantId, runs } = await store({ agent_id: agent }, { api_key_id: key });
      expect(await ids(tenantId, { agent_id: agent })).toEqual([runs[0]]);
      expect(await ids(tenantId, { api_key_id: key })).toEqual([runs[1]]);
    });

    it('refuses a cursor with other filters, another order, of another tenant, or made up', async () => {
      const { tenantId } = await store({}, {}, {});
      const { next_cursor: cursor } = await list(tenantId, { limit: '1', status: 'ok' });
      const given = { cursor: cursor ?? '' };
      expect(await list(tenantId, { ...given, limit: '2', status: 'ok' })).toMatchObject({ has_more: false });
      for (const query of [{}, { status: 'error' }, { status: 'ok', sort: 'cost' }, { status: 'ok', q: 'a' }])
        expect(await errorOf(tenantId, { ...given, ...query })).toMatchObject({
          ...{ status: 400, code: 'cursor_mismatch', param: 'cursor' },
        });
      expect(await errorOf(newId(), { ...given, status: 'ok' })).toMatchObject({ code: 'cursor_mismatch' });
      expect(await errorOf(tenantId, { cursor: 'abc' })).toMatchObject({
        status: 400,
        code: 'invalid_cursor',
      });
    });

    it('refuses an empty period', async () => {
      const query = { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' };
      expect(await errorOf(newId(), query)).toMatchObject({
        status: 400,
        code: 'invalid_value',
        param: 'from',
      });
    });
  });

  describe('the visibility of listed traces', () => {
    it('is that of single traces: users see their runs with previews, admins all, other keys none of the previews', async () => {
      const texts = { input_preview: 'the question', output_preview: 'the answer' };
      const { tenantId, runs } = await store({ user_id: 'ada', ...texts }, { user_id: 'bob', ...texts });
      const [adas, bobs] = runs;
      expect(await list(tenantId)).toMatchObject({ data: [texts, texts] });
      const ada = { role: 'user', userId: 'ada', boundUser: 'ada' } as const;
      const own = await list(tenantId, {}, ada);
      expect(own.data).toMatchObject([{ id: adas, ...texts }]);
      expect(await errorOf(tenantId, { user_id: 'bob' }, ada)).toMatchObject({ code: 'user_mismatch' });
      const { data } = await list(tenantId, { user_id: 'bob' }, { role: 'user' });
      expect(data).toMatchObject([{ id: bobs, input_preview: null, output_preview: null }]);
    });
  });

  describe('a search of traces', () => {
    it.each<[string, Partial<RunEnded>, string]>([
      ['its name', { request_model: 'GPT-9' }, 'CHAT gpt-9'],
      ['the requested model', { request_model: 'Mixtral' }, 'mixt'],
      ['the model of the response', { response_model: 'gpt-9-2026' }, 'gpt-9'],
      ['its trace id', { trace_id: 'f'.repeat(32) }, 'ffff'],
      ['its user', { user_id: 'Grace' }, 'gra'],
      ['its session', { session_id: 'order-4711' }, 'Order-47'],
      ['a preview, anywhere in it', { input_preview: 'Where is My order?' }, 'my ORDER'],
      ['the preview of the response', { output_preview: '100% sure' }, '0% S'],
    ])('finds a run by %s', async (_name, fields, q) => {
      const { tenantId, runs } = await store(fields, {});
      expect(await ids(tenantId, { q })).toEqual([runs[0]]);
    });

    it('finds a run by its id, its agent and its API key', async () => {
      const [agentId, keyId] = [newId(), newId()];
      const { tenantId, runs } = await store({ agent_id: agentId }, { api_key_id: keyId }, {});
      analytics.agents.set(tenantId, [{ id: agentId, key: 'support', name: 'Night shift' }]);
      analytics.apiKeys.set(tenantId, [{ id: keyId, name: 'Web shop' }]);
      expect(await ids(tenantId, { q: runs[2]?.toUpperCase() ?? '' })).toEqual([runs[2]]);
      expect(await ids(tenantId, { q: 'supp' })).toEqual([runs[0]]);
      expect(await ids(tenantId, { q: 'night' })).toEqual([runs[0]]);
      expect(await ids(tenantId, { q: 'web' })).toEqual([runs[1]]);
      analytics.agentServiceIsAway = true;
      expect(await ids(tenantId, { q: 'supp' })).toEqual([]);
      analytics.agentServiceIsAway = false;
    });

    it('reads previews for those who may see them, in periods of a week at most', async () => {
      const { tenantId, runs } = await store(
        { user_id: 'ada', input_preview: 'a rare word' },
        { user_id: 'bob' },
      );
      const now = Date.now() + 60_000;
      const period = (days: number) => ({
        from: new Date(now - days * 86_400_000).toISOString(),
        to: new Date(now).toISOString(),
      });
      expect(await ids(tenantId, { q: 'rare', ...period(7) })).toEqual([runs[0]]);
      expect(await ids(tenantId, { q: 'rare', ...period(7.01) })).toEqual([]);
      expect(await ids(tenantId, { q: 'ada', ...period(30) })).toEqual([runs[0]]);
      const query = { q: 'rare' };
      expect(await ids(tenantId, query, { role: 'user', userId: 'ada', boundUser: 'ada' })).toEqual([
        runs[0],
      ]);
      expect(await ids(tenantId, query, { role: 'user' })).toEqual([]);
      expect(await ids(tenantId, { ...query, user_id: 'ada' }, { role: 'user' })).toEqual([]);
    });
  });

  it('times agree in the list, also of interrupted runs and of corrected ones', async () => {
    const tenantId = newId();
    const [now, hour] = [Date.now(), 3_600_000];
    const run = makeEnd({
      ...{ tenant_id: tenantId, status: 'interrupted', duration_ms: 1_000 },
      started_at: new Date(now - hour).toISOString(),
      ended_at: new Date(now - 1_000).toISOString(),
    });
    const exact = makeEnd({
      ...run,
      status: 'ok',
      duration_ms: 2 * hour,
      ended_at: new Date(now).toISOString(),
    });
    await analytics.ingest(run);
    const times = { started_at: run.started_at, ended_at: run.ended_at, duration_ms: hour - 1_000 };
    expect((await list(tenantId)).data).toMatchObject([times]);
    await analytics.ingest(correction(exact).payload.toString('utf8'));
    const started = new Date(now - 2 * hour).toISOString();
    expect((await list(tenantId)).data).toMatchObject([
      { status: 'ok', started_at: started, ended_at: exact.ended_at, duration_ms: 2 * hour },
    ]);
  });

  it('shows the groups that the user of a run had, of a running and of an ended one', async () => {
    const tenantId = newId();
    const groups = ['Berlin', 'R"and\\D, {x}'];
    const run = { tenant_id: tenantId, user_id: 'ada', groups };
    await analytics.store(makeStart({ ...run, started_at: at(2) }), makeEnd({ ...run, started_at: at(1) }));
    await analytics.store(makeEnd({ tenant_id: tenantId, started_at: at(3) }));
    const { data } = await list(tenantId);
    expect(data.map((trace) => trace.groups)).toEqual([groups, groups, []]);
  });

  it('shows what the guardrails of a run found', async () => {
    const tenantId = newId();
    const found = {
      name: 'pii',
      on: 'user',
      outcome: 'masked',
      types: { email: 2 },
      duration_ms: 3,
    } as const;
    const guardrails = [{ ...found, cost_pico: '1500000' }];
    await analytics.store(
      makeStart({ tenant_id: tenantId, started_at: at(3) }),
      makeEnd({ tenant_id: tenantId, started_at: at(2), guardrails }),
      makeEnd({ tenant_id: tenantId, started_at: at(1) }),
    );
    const { data } = await list(tenantId);
    expect(data.map((trace) => trace.guardrails)).toEqual([
      [],
      [{ ...found, cost_usd: '0.000001500000' }],
      [],
    ]);
  });
});

describe('pages of a bounded number of runs', () => {
  openWith(postgres);

  describe.each([
    ['of a short period', 10_000],
    ['of a long period, which has its first runs alone,', 3],
  ])('an order %s', (_name, maxRead) => {
    const makeRuns = () =>
      store(
        ...[{ cost_pico: '5' }, { cost_pico: '30' }, { cost_pico: null }, { cost_pico: '20' }].map(
          (each, index) => {
            const duration = [400, 100, 200, 300][index] ?? 0;
            const end = Date.now() - 60_000;
            const times = {
              started_at: new Date(end - duration).toISOString(),
              ended_at: new Date(end).toISOString(),
            };
            return { ...each, ...times, duration_ms: duration };
          },
        ),
      );

    /** Runs of pages of two, by their place in the fixture. */
    async function order(sort: 'cost' | 'duration'): Promise<number[]> {
      const { tenantId, runs } = await makeRuns();
      const traces = new TraceListPgStore(analytics.pool('analytics_app'), maxRead);
      const filter = {
        ...{
          search: null,
          model: null,
          provider: null,
          agentId: null,
          apiKeyId: null,
          user: null,
          sessionId: null,
        },
        ...{
          channel: null,
          dialect: null,
          status: null,
          errorCode: null,
          minCost: null,
          minDurationMs: null,
        },
      };
      const period = { from: new Date(Date.now() - 3_600_000), to: new Date() };
      const found: number[] = [];
      let [after, more] = [null, true] as [Awaited<ReturnType<TraceListStore['list']>>['next'], boolean];
      for (; more; more = after !== null) {
        const page = await traces.list(tenantId, { period, sort, filter, after, limit: 2 });
        found.push(...page.rows.map(({ id }) => runs.indexOf(id)));
        after = page.next;
      }
      return found;
    }

    it('by cost is descending, a run without a cost last', async () => {
      expect(await order('cost')).toEqual([1, 3, 0, 2].slice(0, maxRead));
    });

    it('by duration is descending', async () => {
      expect(await order('duration')).toEqual([0, 3, 2, 1].slice(0, maxRead));
    });
  });

  it('a page reads a bounded number of runs, and its cursor goes on', async () => {
    const { tenantId, runs } = await store(
      ...Array.from({ length: 9 }, (_, n) => (n === 7 ? { user_id: 'ada' } : {})),
    );
    const traces = new TraceListPgStore(analytics.pool('analytics_app'), 4);
    const none = {
      ...{
        search: null,
        model: null,
        provider: null,
        agentId: null,
        apiKeyId: null,
        sessionId: null,
        channel: null,
      },
      ...{ dialect: null, status: null, errorCode: null, minCost: null, minDurationMs: null },
    };
    const filter = { ...none, user: 'ada' };
    const period = { from: new Date(Date.now() - 3_600_000), to: new Date() };
    const pages: string[][] = [];
    let after: Awaited<ReturnType<TraceListStore['list']>>['next'] = null;
    do {
      const page = await traces.list(tenantId, { period, sort: 'started_at', filter, after, limit: 50 });
      pages.push(page.rows.map(({ id }) => id));
      after = page.next;
    } while (after !== null);
    expect(pages).toEqual([[], [runs[7]], []]);

    // Runs under way are found without the others beside them.
    const running = [20, 30, 40].map((minutes) =>
      makeStart({ tenant_id: tenantId, started_at: at(minutes) }),
    );
    await analytics.store(...running);
    const underWay = { ...none, user: null, status: 'running' };
    const request = { period, sort: 'started_at' as const, filter: underWay, limit: 2 };
    const first = await traces.list(tenantId, { ...request, after: null });
    const last = await traces.list(tenantId, { ...request, after: first.next });
    const idsOf = ({ rows }: typeof first): string[] => rows.map(({ id }) => id);
    expect([...idsOf(first), ...idsOf(last)]).toEqual(running.map(({ run_id: id }) => id));
    expect(last.next).toBeNull();
  });
});
