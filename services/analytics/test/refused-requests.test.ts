import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { trace, type Trace } from '@gatehouse/contract/traces';
import type { CostSummary, UsageSummary } from '@gatehouse/contract/usage';
import type { RefusedDetail } from '@gatehouse/events/refused-event';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { userDigest } from '@gatehouse/kit/user-digest';
import { forget } from '../src/forgetting/forget-user-job.ts';
import { LateRefusals } from '../src/forgetting/late-refusals-job.ts';
import { AnalyticsHarness, endOf, startOf } from './analytics-harness.ts';
import { describeStores, postgres, type Engine } from './describe-stores.ts';
import { detail, entryOf, eventOf, refusedReads } from './refused-fixture.ts';

const dayMs = 86_400_000;

let harness: AnalyticsHarness;
function openWith(engine: Engine): void {
  beforeAll(async () => {
    harness = await AnalyticsHarness.start(undefined, engine);
  });
  afterAll(() => harness.stop());
}

const { usageOf, refusedBy, keptOf } = refusedReads(() => harness);

interface List {
  data: Trace[];
  has_more: boolean;
  next_cursor: string | null;
}
const listOf = (tenantId: string, query = '', as: object = {}): Promise<List> =>
  harness.get(`/v1/traces?status=refused${query}`, { tenantId, ...as }) as Promise<List>;

describeStores('refused requests', (engine) => {
  openWith(engine);

  it('counts refused requests by code, model and key, beside runs and never among them', async () => {
    const [tenantId, key] = [newId(), newId()];
    await harness.ingest(
      endOf(startOf({ tenant_id: tenantId, request_model: 'small' }, 0.001)),
      eventOf([
        entryOf(tenantId, { count: 5, api_key_id: key }),
        entryOf(tenantId, {
          count: 2,
          code: 'model_not_found',
          model: '',
          details: [detail(new Date(), 'gpt-9')],
        }),
      ]),
    );
    const { totals } = await usageOf(tenantId);
    expect(totals).toMatchObject({ requests: 1, refused: 7, blocked: 0 });
    expect(await refusedBy(tenantId, 'error_code')).toEqual([
      ['model_not_found', 0, 2],
      ['rate_limit_exceeded', 0, 5],
      [null, 1, 0],
    ]);
    expect(await refusedBy(tenantId, 'model')).toEqual([
      ['', 0, 2],
      ['small', 1, 5],
    ]);
    expect((await usageOf(tenantId, `api_key_id=${key}`)).totals.refused).toBe(5);
    expect((await usageOf(tenantId, 'model=small')).totals).toMatchObject({ requests: 1, refused: 5 });
    expect((await usageOf(tenantId, 'provider=simulator')).totals).toMatchObject({ requests: 1, refused: 0 });
    const costs = (await harness.get('/v1/costs/summary?group_by=model', { tenantId })) as CostSummary;
    expect(costs.groups.map(({ key: { model } }) => model)).toEqual(['small']);
    const follow = (await harness.get('/v1/traces/follow', { tenantId })) as { traces: unknown[] };
    expect(follow.traces).toHaveLength(1);
  });

  it('lists refused requests alone, newest first, with the filters of runs', async () => {
    const [tenantId, agent, key] = [newId(), newId(), newId()];
    harness.agents.set(tenantId, [{ id: agent, key: 'helper', name: 'Helper' }]);
    await harness.store(endOf(startOf({ tenant_id: tenantId }, 0.01)));
    for (let minutes = 5; minutes > 0; minutes -= 1)
      await harness.store(
        eventOf([
          entryOf(tenantId, {
            user_id: minutes % 2 === 0 ? 'ada' : 'bob',
            ...(minutes === 1 && { agent_id: agent, api_key_id: key, code: 'agent_disabled' }),
            details: [detail(new Date(Date.now() - minutes * 60_000), `model-${minutes}`)],
          }),
        ]),
      );
    const modelsOf = ({ data }: List): string[] => data.map(({ request_model: model }) => model);
    const { data } = await listOf(tenantId);
    expect(modelsOf({ data, has_more: false, next_cursor: null })).toEqual(
      [1, 2, 3, 4, 5].map((minutes) => `model-${minutes}`),
    );
    expect(data.map((item) => trace.parse(item))).toEqual(data);
    expect(data[0]).toMatchObject({
      ...{ status: 'refused', name: 'chat model-1', provider: null, cost_usd: null, duration_ms: 0 },
      ...{ agent_id: agent, agent_key: 'helper', api_key_id: key, user_id: 'bob', client: 'curl' },
      error: { type: 'agent_disabled', message: 'The limit of 10 requests per minute is reached.' },
    });
    expect(modelsOf(await listOf(tenantId, '&error_code=agent_disabled'))).toEqual(['model-1']);
    expect(modelsOf(await listOf(tenantId, `&agent_id=${agent}&api_key_id=${key}`))).toEqual(['model-1']);
    expect(modelsOf(await listOf(tenantId, '&user_id=ada&model=model-4'))).toEqual(['model-4']);
    expect(modelsOf(await listOf(tenantId, '&q=MODEL-3'))).toEqual(['model-3']);
    expect(modelsOf(await listOf(tenantId, '&provider=simulator'))).toEqual([]);
    expect(modelsOf(await listOf(tenantId, '&min_cost_usd=0.01'))).toEqual([]);
    const user = { role: 'user', boundUser: 'ada', userId: 'ada' } as const;
    expect(modelsOf(await listOf(tenantId, '', user))).toEqual(['model-2', 'model-4']);
    expect(modelsOf(await listOf(newId()))).toEqual([]);
    const paged: string[] = [];
    for (let page = await listOf(tenantId, '&limit=2'); ;) {
      paged.push(...modelsOf(page));
      if (page.next_cursor === null) break;
      page = await listOf(tenantId, `&limit=2&cursor=${page.next_cursor}`);
    }
    expect(paged).toEqual([1, 2, 3, 4, 5].map((minutes) => `model-${minutes}`));
    const path = `/v1/traces/${data[0]?.id ?? ''}`;
    expect(await harness.get(path, { tenantId })).toMatchObject({ status: 'refused', spans: [] });
    expect(await harness.call('GET', path, { as: { tenantId: newId() } })).toMatchObject({ status: 404 });
    const { data: runs } = (await harness.get('/v1/traces', { tenantId })) as List;
    expect(runs.map(({ status }) => status)).toEqual(['error']);
  });

  it('shows the findings of the guardrails that blocked a request', async () => {
    const tenantId = newId();
    const found = {
      name: 'contacts',
      on: 'user',
      outcome: 'blocked',
      types: { email: 2 },
      duration_ms: 1,
    } as const;
    const blocked = { ...detail(new Date()), guardrails: [{ ...found, cost_pico: '0' }] };
    await harness.store(
      eventOf([entryOf(tenantId, { code: 'content_blocked', count: 2, details: [blocked] })]),
    );
    await harness.store(eventOf([entryOf(tenantId, { details: [detail(new Date(Date.now() - 60_000))] })]));
    const { data } = await listOf(tenantId);
    expect(data.map(({ guardrails }) => guardrails)).toEqual([
      [{ ...found, cost_usd: '0.000000000000' }],
      [],
    ]);
    const path = `/v1/traces/${blocked.id}`;
    expect(await harness.get(path, { tenantId })).toMatchObject({ guardrails: [found] });
  });

  it('adds an event once, however often it arrives', async () => {
    const tenantId = newId();
    const event = eventOf([entryOf(tenantId, { count: 3, details: [detail(new Date())] })]);
    await Promise.all([harness.store(event), harness.store(event), harness.store(event)]);
    await harness.store(event);
    expect((await usageOf(tenantId)).totals.refused).toBe(3);
    expect(await keptOf(tenantId)).toBe(1);
  });

  it('keeps 1,000 requests of an hour of a tenant one by one, and counts them all', async () => {
    const [tenantId, other] = [newId(), newId()];
    const hour = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - 3_600_000);
    const batch = (tenant: string, at: Date) =>
      entryOf(tenant, { count: 200, details: Array.from({ length: 200 }, () => detail(at)) });
    for (let sent = 0; sent < 6; sent += 1) await harness.store(eventOf([batch(tenantId, hour)], hour));
    await harness.store(eventOf([batch(other, hour)], hour), eventOf([batch(tenantId, new Date())]));
    expect([await keptOf(tenantId), await keptOf(other)]).toEqual([1_200, 200]);
    expect((await usageOf(tenantId)).totals.refused).toBe(1_400);
  });

  it('shows users and tenants their own, and owners all', async () => {
    const [tenantId, other] = [newId(), newId()];
    await harness.store(
      eventOf([
        entryOf(tenantId, { user_id: 'ada', count: 2 }),
        entryOf(tenantId, { user_id: 'bob', count: 3 }),
        entryOf(other, { count: 4 }),
      ]),
    );
    const user = { role: 'user', boundUser: 'ada', userId: 'ada' } as const;
    expect((await usageOf(tenantId, '', user)).totals.refused).toBe(2);
    expect((await usageOf(tenantId)).totals.refused).toBe(5);
    const owner = { role: 'owner', tenantId: null, tenantSlug: null } as const;
    const all = (await harness.get(
      '/internal/v1/owner/usage/summary?group_by=tenant,error_code',
      owner,
    )) as UsageSummary;
    const refused = all.groups.filter(({ key }) =>
      [tenantId, other].includes((key as { tenant: string }).tenant),
    );
    expect(refused.map((group) => group.refused).toSorted()).toEqual([4, 5]);
  });

  it('removes a user whose data are deleted, also from events that arrive later', async () => {
    const tenantId = newId();
    const at = new Date(Date.now() - 60_000);
    const personal = () =>
      eventOf([entryOf(tenantId, { user_id: 'ada', count: 2, details: [detail(at)] })], at);
    await harness.store(personal());
    const deletion = { id: newId(), tenantId, userId: 'ada', requestedAt: new Date() };
    const { completed } = await forget(deletion, { store: harness.stores.deletions, settleMs: 0 });
    expect(completed).toBe(true);
    await harness.store(personal());
    expect(await refusedBy(tenantId, 'user')).toEqual([[null, 0, 4]]);
    expect(await keptOf(tenantId)).toBe(0);
  });

  it('deletes kept requests after the retention of their tenant, and never the counts', async () => {
    const [tenantId, other] = [newId(), newId()];
    harness.retentionDays.set(tenantId, 1).set(other, 7);
    const old = new Date(Date.now() - 1.5 * dayMs);
    for (const tenant of [tenantId, other])
      await harness.store(
        eventOf([entryOf(tenant, { details: [detail(old)] })], old),
        eventOf([entryOf(tenant, { details: [detail(new Date())] })]),
      );
    const retention = await harness.retention();
    await retention.sweep();
    expect([await keptOf(tenantId), await keptOf(other)]).toEqual([1, 2]);
    const from = new Date(Date.now() - 2 * dayMs).toISOString();
    expect((await usageOf(tenantId, `from=${from}`)).totals.refused).toBe(2);
  });

  it('dead-letters counts that come too late or that are none, without users', async () => {
    const tenantId = newId();
    const old = new Date(Date.now() - 3 * dayMs);
    await harness.store(
      eventOf([entryOf(tenantId, { user_id: 'ada-late', details: [detail(old)] })], old),
      eventOf([entryOf(tenantId, { model: 'nul \u0000' })]),
      eventOf([entryOf(tenantId, { count: 0 })]),
      eventOf([entryOf(tenantId)]),
    );
    expect((await usageOf(tenantId)).totals.refused).toBe(1);
    const letters = await harness.rows(
      `select reason, convert_from(payload, 'UTF8') as text from analytics.dead_letters
     where strpos(convert_from(payload, 'UTF8'), $1) > 0 order by reason`,
      [tenantId],
    );
    expect(letters.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('not counts of refused requests'),
      expect.stringContaining('rejected by the database'),
      expect.stringContaining('too late'),
    ]);
    expect(letters.filter(({ text }) => String(text).includes('ada-late'))).toEqual([]);
  });

  it('counts no user with refused requests alone among unique users', async () => {
    const tenantId = newId();
    await harness.ingest(
      endOf(startOf({ tenant_id: tenantId, user_id: 'ada' }, 0.01)),
      eventOf([entryOf(tenantId, { user_id: 'ada' }), entryOf(tenantId, { user_id: 'bob', count: 3 })]),
    );
    for (const group of ['user', 'api_key', 'model', 'session']) {
      const { totals, groups } = await usageOf(tenantId, `group_by=${group}`);
      expect([group, totals.unique_users, totals.refused]).toEqual([group, 1, 4]);
      expect([group, groups.reduce((sum, { unique_users: users }) => sum + users, 0)]).toEqual([group, 1]);
    }
    expect((await usageOf(tenantId, 'user_id=bob')).totals).toMatchObject({ unique_users: 0, refused: 3 });
  });

  it('counts requests of an outage in their own time, without those of a user deleted meanwhile', async () => {
    const tenantId = newId();
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
    const entry = (from: number, ...details: RefusedDetail[]) =>
      entryOf(tenantId, {
        ...{ user_id: 'ada', count: 5, details, refused_at: minutesAgo(from).toISOString() },
      });
    const deletion = { id: newId(), tenantId, userId: 'ada', requestedAt: minutesAgo(60) };
    await forget(deletion, { store: harness.stores.deletions, settleMs: 0 });
    const stays = detail(minutesAgo(59));
    await harness.store(
      eventOf([entry(90, detail(minutesAgo(90))), entry(62, detail(minutesAgo(61)), stays), entry(30)]),
    );
    expect(await refusedBy(tenantId, 'user')).toEqual([
      ['ada', 0, 6],
      [null, 0, 9],
    ]);
    const kept = await harness.rows(
      'select id, user_id from analytics.refused_requests where tenant_id = $1',
      [tenantId],
    );
    expect(kept).toEqual([{ id: stays.id, user_id: 'ada' }]);
    const from = minutesAgo(46).toISOString();
    expect((await usageOf(tenantId, `from=${from}`)).totals.refused).toBe(5);
  });
});

describe('refused requests in PostgreSQL', () => {
  openWith(postgres);

  it('counts by code alone beyond 500 groups of a quarter of an hour, and other tenants as before', async () => {
    const [tenantId, other] = [newId(), newId()];
    const at = new Date();
    const flood = (from: number) =>
      Array.from({ length: 250 }, (_, index) => entryOf(tenantId, { user_id: `user-${from + index}` }));
    await harness.store(eventOf(flood(0), at), eventOf(flood(250), at));
    await harness.store(eventOf([...flood(500).slice(1), entryOf(other, { model: 'large' })], at));
    const rows = await harness.rows(
      `select count(*)::integer as rows, sum(refused)::integer as refused from analytics.refused_usage
     where tenant_id = $1`,
      [tenantId],
    );
    expect(rows).toEqual([{ rows: 501, refused: 749 }]);
    expect(await refusedBy(other, 'model')).toEqual([['large', 0, 1]]);
  });

  it('removes users whose deletion a replica of an earlier release completed', async () => {
    const tenantId = newId();
    const at = new Date(Date.now() - 60_000);
    const entry = (user: string) =>
      entryOf(tenantId, { user_id: user, details: [detail(at)], refused_at: at.toISOString() });
    await harness.store(eventOf([entry('ada'), entry('bob')]));
    await harness.rows(
      `insert into analytics.forgotten_users (tenant_id, user_digest, requested_at, pseudonym)
     values ($1, $2, now(), null)`,
      [tenantId, userDigest(tenantId, 'ada')],
    );
    await new LateRefusals(harness.stores.deletions, createLogger('test', 'silent')).sweep();
    expect(await refusedBy(tenantId, 'user')).toEqual([
      ['bob', 0, 1],
      [null, 0, 1],
    ]);
    expect(await keptOf(tenantId)).toBe(1);
  });
});
