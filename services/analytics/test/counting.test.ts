import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Received } from '@gatehouse/events/dead-letters';
import type { RunEnded } from '@gatehouse/events/run-event';
import { writeWatermark } from '@gatehouse/events/watermark';
import { newId } from '@gatehouse/kit/ids';
import fc from 'fast-check';
import { Client } from 'pg';
import type { UsageConsumer } from '../src/ingest/usage-consumer.ts';
import type { Group, SummaryRequest } from '../src/usage/summary.ts';
import type { UsageStore } from '../src/usage/usage-store.ts';
import { describeStores } from './describe-stores.ts';
import { costOf, makeCall, makeEnd, makeStart, received } from './event-fixture.ts';
import { noFilter, startIngest, type IngestFixture } from './ingest-fixture.ts';

describeStores('counting', (engine) => {
  let fixture: IngestFixture;
  let ingest: UsageConsumer;
  let usage: UsageStore;
  beforeAll(async () => {
    fixture = await startIngest(engine);
    ({ ingest } = fixture);
    usage = fixture.stores.usage;
  });
  afterAll(() => fixture.stop());

  /** The reasons of dead letters, which are in PostgreSQL beside every engine. */
  const reasonsOf = async (origin: string): Promise<string[]> => {
    const client = new Client({ connectionString: fixture.database.adminUrl });
    await client.connect();
    const text = 'select reason from analytics.dead_letters where origin = $1 order by reason';
    const { rows } = await client.query<{ reason: string }>(text, [origin]);
    await client.end();
    return rows.map(({ reason }) => reason);
  };
  const summarize = (tenant: string, request: Partial<SummaryRequest> = {}) =>
    usage.summarize(tenant, {
      period: { from: new Date(Date.now() - 3_600_000), to: new Date(Date.now() + 3_600_000) },
      filter: noFilter,
      groupBy: [],
      timezone: 'UTC',
      ...request,
    });

  it('counts a run once, in whatever order and however often its events arrive', async () => {
    const tenant = newId();
    const runs = Array.from({ length: 20 }, () => {
      const start = makeStart({ tenant_id: tenant });
      return [received(start), received(makeEnd({ ...start, input_tokens: 7 }))];
    });
    const events = runs.flat();
    await Promise.all([
      ingest.take(events),
      ingest.take(events.toReversed()),
      ...events.map((event) => ingest.take([event])),
    ]);
    await ingest.take(events);
    const { totals } = await summarize(tenant);
    expect(totals).toMatchObject({ requests: 20, inputTokens: 140, costPico: 20_000n });
    const by = { user: false, groups: false, agent: false, apiKey: false, session: false, model: false };
    const { groups } = await fixture.stores.groupRuns.groupRuns(
      tenant,
      { days: 1, by, period: null, timezone: 'UTC' },
      { maxRuns: 100, maxGroups: 1 },
    );
    expect(groups.map(({ runs: stored }) => stored)).toEqual([20]);
  });

  it('keeps the first end of a run', async () => {
    const end = makeEnd({ status: 'interrupted', input_tokens: 1 });
    await ingest.take([received(end), received({ ...end, status: 'ok', input_tokens: 2 })]);
    await ingest.take([received({ ...end, status: 'ok', input_tokens: 3 })]);
    expect((await summarize(end.tenant_id)).totals).toMatchObject({ requests: 1, errors: 1, inputTokens: 1 });
  });

  it('dead-letters events that it cannot read or store, and continues', async () => {
    const good = makeEnd();
    const late = makeEnd({ tenant_id: good.tenant_id, run_id: '00000000-0001-7000-8000-000000000000' });
    const refused = makeEnd({ tenant_id: good.tenant_id, session_id: 'nul \u0000' });
    const origin = `topic/0/${newId()}`;
    await ingest.take([
      { origin, payload: Buffer.from('garbage') },
      { origin, payload: Buffer.alloc(0) },
      { origin, payload: Buffer.alloc(1_100_000, 'x') },
      received({ ...good, run_id: 'nobody' }, origin),
      received(late, origin),
      received(refused, origin),
      received(good, origin),
    ]);
    expect((await summarize(good.tenant_id)).totals.requests).toBe(1);
    expect(await reasonsOf(origin)).toEqual([
      'larger than 1000000 bytes',
      expect.stringContaining('not JSON'),
      expect.stringContaining('not JSON'),
      expect.stringContaining('not the end of a run: run_id'),
      expect.stringContaining('rejected by the database'),
      expect.stringContaining('too late'),
    ]);
  });

  it('cuts texts and numbers that are larger than an event may have, and counts the run', async () => {
    const text = 'long '.repeat(20_000);
    const spans = [makeCall({ response_model: text, duration_ms: 2 ** 40, input_tokens: 2 ** 50 })];
    const end = makeEnd({
      error_message: text,
      response_model: text,
      output_preview: text,
      duration_ms: 2 ** 40,
      tool_calls: 2 ** 40,
      spans,
    });
    await ingest.take([received(end)]);
    expect((await summarize(end.tenant_id)).totals.requests).toBe(1);
    const trace = await fixture.stores.traces.find(end.tenant_id, end.run_id);
    expect(trace).toMatchObject({
      duration_ms: 2_147_483_647,
      error_message: text.slice(0, 2_000),
      output_preview: text.slice(0, 10_000),
      response_model: text.slice(0, 256),
      spans: [{ response_model: text.slice(0, 256) }],
    });
  });

  it('stores a batch of many megabytes', async () => {
    const tenant = newId();
    const ends = Array.from({ length: 300 }, () =>
      makeEnd({ tenant_id: tenant, input_preview: 'é'.repeat(10_000), output_preview: 'ü'.repeat(10_000) }),
    );
    await ingest.take(ends.map((end) => received(end)));
    expect((await summarize(tenant)).totals.requests).toBe(300);
  });

  it('is known up to the least watermark, once there is one of each partition', async () => {
    const mark = (partition: number, watermark: string) => ({
      origin: 'test',
      payload: Buffer.from(writeWatermark('test', { partition, partitions: 2, watermark })),
    });
    await ingest.take([mark(0, '2026-01-01T00:00:05.000Z')]);
    expect((await summarize(newId())).asOf).toEqual(new Date(0));
    await ingest.take([mark(1, '2026-01-01T00:00:03.000Z'), mark(0, '2026-01-01T00:00:04.000Z')]);
    expect((await summarize(newId())).asOf).toEqual(new Date('2026-01-01T00:00:03.000Z'));
    await ingest.take([mark(1, '2026-01-01T00:00:09.000Z')]);
    expect((await summarize(newId())).asOf).toEqual(new Date('2026-01-01T00:00:05.000Z'));
  });

  it('equals the sum of the runs for any period, zone, filter and grouping', async () => {
    const tenant = newId();
    const month = Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth(), 1);
    const pick = <Value>(values: readonly Value[], at: number): Value => values[at % values.length] as Value;
    const agents = [null, newId()];
    const endOf = (index: number) =>
      new Date(month + ((index * 7_919_777) % (6 * 86_400_000)) - 3 * 86_400_000).toISOString();
    const ends: RunEnded[] = Array.from({ length: 400 }, (_, index) =>
      makeEnd({
        ...{ tenant_id: tenant, started_at: endOf(index), ended_at: endOf(index) },
        ...{ model: pick(['small', 'large', null], index), agent_id: pick(agents, index * 3) },
        provider: pick(['simulator', 'other'], index % 5),
        user_id: pick(['ann', 'bob', null, 'eve'], index * 7),
        dialect: pick(['chat', 'messages', null] as const, Math.floor(index / 2)),
        client: pick(['codex', 'other', null], Math.floor(index / 3)),
        session_id: pick(['one', 'two', null, 'three', 'four'], Math.floor(index / 4)),
        status: pick(['ok', 'ok', 'error', 'cancelled', 'interrupted'] as const, index),
        cost_pico: pick(['0', '999999999999', '1', null], index),
        priced: index % 4 !== 3,
        usage_estimated: index % 5 === 0,
        ...(index % 7 === 0 && { own_key: true }),
        duration_ms: pick([null, 10, 35], index),
      }),
    );
    await fixture.count(ends.slice(200).map((end) => received(end)));
    await ingest.take(ends.map((end) => received(end)));
    const offsets = fc.integer({ min: -4 * 24 * 60, max: 4 * 24 * 60 });
    const request = fc.record({
      edges: fc.tuple(offsets, offsets).filter(([a, b]) => a !== b),
      filter: fc.record({
        ...{ model: fc.constantFrom(null, 'small'), provider: fc.constantFrom(null, 'other') },
        ...{ dialect: fc.constantFrom(null, 'messages'), user: fc.constantFrom(null, 'ann') },
        agentId: fc.constantFrom(null, agents[1] ?? null),
      }),
      groupBy: fc.constantFrom<('user' | 'model' | 'agent' | 'dialect' | 'client' | 'session')[]>(
        [],
        ['user'],
        ['model', 'user'],
        ['agent'],
        ['agent', 'model'],
        ['client', 'dialect'],
        ['session'],
        ['dialect', 'session', 'user'],
      ),
    });
    await fc.assert(
      fc.asyncProperty(request, async ({ edges, filter, groupBy }) => {
        const [from, to] = edges.toSorted((a, b) => a - b).map((edge) => new Date(month + edge * 60_000 + 1));
        const period = { from: from ?? new Date(), to: to ?? new Date() };
        const summary = await summarize(tenant, {
          period,
          filter: { ...noFilter, ...filter },
          groupBy,
        });
        const counted = ends.filter(
          (end) =>
            new Date(end.ended_at) >= period.from &&
            new Date(end.ended_at) < period.to &&
            (filter.model === null || (end.model ?? end.request_model) === filter.model) &&
            (filter.provider === null || end.provider === filter.provider) &&
            (filter.dialect === null || end.dialect === filter.dialect) &&
            (filter.user === null || end.user_id === filter.user) &&
            (filter.agentId === null || end.agent_id === filter.agentId),
        );
        const { own = [], paid = [] } = Object.groupBy(counted, ({ own_key: key }) => (key ? 'own' : 'paid'));
        const timed = counted.flatMap(({ duration_ms: ms }) => (ms === null ? [] : [ms]));
        expect(summary.totals).toMatchObject({
          requests: counted.length,
          errors: counted.filter(({ status }) => ['error', 'interrupted'].includes(status)).length,
          cancelled: counted.filter(({ status }) => status === 'cancelled').length,
          inputTokens: counted.length * 10,
          costPico: costOf(paid),
          ownKeyRequests: own.length,
          ownKeyCostPico: costOf(own),
          unpricedRequests: paid.filter(({ priced }) => !priced).length,
          unpricedModels: [
            ...new Set(paid.flatMap((end) => (end.priced ? [] : (end.model ?? end.request_model)))),
          ].sort(),
          estimatedRequests: paid.filter((end) => end.usage_estimated).length,
          uniqueUsers: new Set(counted.flatMap(({ user_id: user }) => user ?? [])).size,
          avgDurationMs:
            timed.length === 0 ? null : Math.round(timed.reduce((a, b) => a + b, 0) / timed.length),
        });
        const keyOf = (end: RunEnded): string => {
          const key = {
            user: end.user_id,
            agent: end.agent_id,
            model: end.model ?? end.request_model,
            dialect: end.dialect,
            client: end.client,
            session: end.session_id,
          };
          return JSON.stringify(groupBy.map((dimension) => key[dimension]));
        };
        const groups = groupBy.length === 0 ? new Map<string, RunEnded[]>() : Map.groupBy(counted, keyOf);
        expect(summary.groups).toHaveLength(groups.size);
        for (const { key, requests, uniqueUsers } of summary.groups) {
          const members = groups.get(JSON.stringify(groupBy.map((dimension) => key[dimension]))) ?? [];
          expect(requests).toBe(members.length);
          expect(uniqueUsers).toBe(new Set(members.flatMap(({ user_id: user }) => user ?? [])).size);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('counts each of many users once, also when two replicas meet them at the same time', async () => {
    const tenant = newId();
    const day = 86_400_000;
    const from = Math.floor(Date.now() / day) * day - 2 * day;
    const runsOn = (time: number, users: number): Received[] =>
      Array.from({ length: users }, (_, index) =>
        received(
          makeEnd({
            tenant_id: tenant,
            user_id: `user ${index}`,
            ended_at: new Date(time).toISOString(),
            model: index % 2 === 0 ? 'small' : 'large',
          }),
        ),
      );
    await Promise.all([ingest.take(runsOn(from, 1_500)), ingest.take(runsOn(from + 1, 1_500))]);
    await ingest.take(runsOn(from + day, 1_100));
    const period = { from: new Date(from), to: new Date(from + 2 * day) };
    const { totals, groups } = await summarize(tenant, { period, groupBy: ['day', 'model'] });
    expect(totals).toMatchObject({ requests: 4_100, uniqueUsers: 1_500 });
    expect(groups.map(({ uniqueUsers }) => uniqueUsers)).toEqual([750, 750, 550, 550]);
    const rest = { from: new Date(from + 1), to: new Date(from + day + 1) };
    expect((await summarize(tenant, { period: rest, groupBy: [] })).totals).toMatchObject({
      requests: 2_600,
      uniqueUsers: 1_500,
    });
  });

  it('counts no run for which no provider was called', async () => {
    const tenant = newId();
    const notSent = makeCall({ status: 'not_sent', input_tokens: 0, output_tokens: 0 });
    const minute = Math.floor(Date.now() / 60_000) * 60_000 - 7_200_000;
    const ends = [[notSent], [notSent, makeCall()]].map((spans) =>
      makeEnd({ tenant_id: tenant, user_id: newId(), ended_at: new Date(minute).toISOString(), spans }),
    );
    await ingest.take(ends.map((end) => received(end)));
    for (const period of [
      { from: new Date(minute - 3_600_000), to: new Date(minute + 3_600_000) },
      { from: new Date(minute), to: new Date(minute + 1) },
    ])
      expect((await summarize(tenant, { period })).totals).toMatchObject({ requests: 1, uniqueUsers: 1 });
  });

  it('names the models of the calls that have no price, whichever of them answered', async () => {
    const tenant = newId();
    const minute = Math.floor(Date.now() / 60_000) * 60_000 - 7_200_000;
    const free = { cost_pico: null, input_tokens: 0, output_tokens: 0 };
    const unpriced = [
      // A fallback: the answer is priced, what came before it is not; and what was never sent needs no price.
      [
        makeCall({ model: 'cut', cost_pico: null, status: 'error' }),
        makeCall({ number: 2, model: 'cut', cost_pico: null, status: 'error' }),
        makeCall({ number: 3, model: 'other', cost_pico: null, status: 'error' }),
        makeCall({ number: 4, model: 'unsent', ...free, status: 'not_sent' }),
        makeCall({ number: 5 }),
      ],
      // A run whose calls report nothing that would lack a price.
      [makeCall({ ...free, status: 'interrupted' })],
    ].map((spans, index) =>
      makeEnd({
        tenant_id: tenant,
        user_id: ['ann', 'bob'][index] ?? null,
        model: ['small', null][index] ?? null,
        request_model: 'asked',
        ended_at: new Date(minute).toISOString(),
        priced: false,
        spans,
      }),
    );
    const priced = makeEnd({ tenant_id: tenant, ended_at: new Date(minute).toISOString() });
    const events = [priced, ...unpriced].map((end) => received(end));
    await Promise.all([ingest.take(events), ingest.take(events.toReversed())]);
    for (const period of [
      { from: new Date(minute - 3_600_000), to: new Date(minute + 3_600_000) },
      { from: new Date(minute), to: new Date(minute + 1) },
    ]) {
      const { totals } = await summarize(tenant, { period });
      expect(totals).toMatchObject({
        requests: 3,
        unpricedRequests: 2,
        unpricedModels: ['asked', 'cut', 'other'],
      });
      const anns = await summarize(tenant, { period, filter: { ...noFilter, user: 'ann', model: 'small' } });
      expect(anns.totals).toMatchObject({ unpricedRequests: 1, unpricedModels: ['cut', 'other'] });
      const others = await summarize(newId(), { period });
      expect(others.totals.unpricedModels).toEqual([]);
    }
  });

  it('begins a day at the first of two midnights', async () => {
    const tenant = newId();
    // The Azores go back from 01:00 to 00:00 on 25 October 2026 at 01:00 UTC; Havana on 1 November at 05:00 UTC.
    const at = (ended_at: string): RunEnded => makeEnd({ tenant_id: tenant, ended_at });
    await ingest.take(
      ['2026-10-25T00:30:00.000Z', '2026-11-01T04:30:00.000Z'].map((time) => received(at(time))),
    );
    const azores = await summarize(tenant, {
      period: { from: new Date('2026-10-25T00:00:00Z'), to: new Date('2026-10-26T01:00:00Z') },
      timezone: 'Atlantic/Azores',
      groupBy: ['day'],
    });
    expect(azores.groups.map(({ key }) => key.day)).toEqual(['2026-10-25']);
    const havana = await summarize(tenant, {
      period: { from: new Date('2026-10-20T00:00:00Z'), to: new Date('2026-11-20T00:00:00Z') },
      timezone: 'America/Havana',
      groupBy: ['month', 'day'],
    });
    expect(havana.groups.map(({ key }) => `${key.month ?? ''} ${key.day ?? ''}`)).toEqual([
      '2026-10 2026-10-24',
      '2026-11 2026-11-01',
    ]);
  });

  it('names days and months as the zone has them, also where a day has 23 or 25 hours', async () => {
    const tenant = newId();
    const at = (ended_at: string): RunEnded => makeEnd({ tenant_id: tenant, ended_at });
    // Germany goes to summer time on 29 March 2026 at 01:00 UTC, and back on 25 October.
    await ingest.take(
      [
        '2026-03-28T22:59:59.999Z',
        '2026-03-28T23:00:00.000Z',
        '2026-03-29T21:59:59.999Z',
        '2026-03-29T22:00:00.000Z',
        '2026-10-24T21:59:59.999Z',
        '2026-10-24T22:00:00.000Z',
        '2026-10-25T22:59:59.999Z',
        '2026-10-25T23:00:00.000Z',
      ].map((time) => received(at(time))),
    );
    const period = { from: new Date('2026-01-01T00:00:00Z'), to: new Date('2026-12-31T00:00:00Z') };
    const timezone = 'Europe/Berlin';
    const days = await summarize(tenant, { period, timezone, groupBy: ['day'] });
    const counts = (groups: Group[], name: 'day' | 'month' | 'hour') =>
      groups.map(({ key, requests }) => `${key[name] ?? ''}: ${requests}`);
    expect(counts(days.groups, 'day')).toEqual([
      '2026-03-28: 1',
      '2026-03-29: 2',
      '2026-03-30: 1',
      '2026-10-24: 1',
      '2026-10-25: 2',
      '2026-10-26: 1',
    ]);
    const months = await summarize(tenant, { period, timezone: 'Asia/Kathmandu', groupBy: ['month'] });
    expect(counts(months.groups, 'month')).toEqual(['2026-03: 4', '2026-10: 4']);
    const hours = await summarize(tenant, { period, groupBy: ['hour'] });
    expect(counts(hours.groups, 'hour')[0]).toBe('2026-03-28T22:00:00.000Z: 1');
  });
});
