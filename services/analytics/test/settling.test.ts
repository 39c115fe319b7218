import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Received } from '@gatehouse/events/dead-letters';
import type { RunEnded } from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { createPool, withTenantSnapshot } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import fc from 'fast-check';
import { Client } from 'pg';
import { forget } from '../src/forgetting/forget-user-job.ts';
import { deleteTraces } from '../src/retention/retention-system-store.ts';
import { Settling } from '../src/settling/settling-job.ts';
import { settlePart } from '../src/settling/settling-system-store.ts';
import { readParts } from '../src/usage/settled-days-store.ts';
import type { SummaryRequest } from '../src/usage/summary.ts';
import { UsageStore } from '../src/usage/usage-store.ts';
import { correction, makeCall, makeEnd, received } from './event-fixture.ts';
import { noFilter, startIngest, type IngestFixture } from './ingest-fixture.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Days before this one are over. */
const today = Math.floor((Date.now() - 2 * hourMs) / dayMs) * dayMs;
const firstDay = today - 4 * dayMs;

let fixture: IngestFixture;
let usage: UsageStore;
let admin: Client;
beforeAll(async () => {
  fixture = await startIngest();
  usage = new UsageStore(fixture.reading);
  admin = new Client({ connectionString: fixture.database.adminUrl });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await fixture.stop();
});

const log = createLogger('test', 'silent');

/** The job of a replica. Its parts of days have `most` rows. */
const makeSettling = (most = 40, least = 1): Settling =>
  new Settling({
    pool: fixture.writing,
    log,
    registry: createRegistry('test'),
    sizes: { least, most },
  });

const agents = [null, newId(), newId()];
const keys = [newId(), newId()];
const pick = <Value>(values: readonly Value[], index: number): Value =>
  values[index % values.length] as Value;

/** A run of the four days; `seed` decides on all of it. */
function makeRun(tenantId: string, seed: number): RunEnded {
  const unpriced = seed % 5 === 3;
  return makeEnd({
    tenant_id: tenantId,
    ended_at: new Date(firstDay + ((seed * 7_919_777) % (4 * dayMs))).toISOString(),
    model: pick(['small', 'large', null], seed),
    agent_id: pick(agents, seed * 5 + 1),
    api_key_id: pick(keys, Math.floor(seed / 3)),
    user_id: pick(['ann', 'bob', null, 'eve'], seed * 7),
    client: pick(['codex', 'other', null], Math.floor(seed / 3)),
    session_id: pick(['one', null, 'two'], Math.floor(seed / 4)),
    status: pick(['ok', 'ok', 'error', 'cancelled'] as const, seed),
    duration_ms: pick([null, 10, 35], seed),
    cost_pico: pick(['0', '999999999999', '1', null], seed),
    priced: !unpriced,
    usage_estimated: seed % 3 === 0,
    ...(unpriced && { spans: [makeCall({ model: pick(['lost', 'odd'], seed), cost_pico: null })] }),
    ...(seed % 7 === 0 && { own_key: true }),
  });
}

const makeRuns = (tenantId: string, count: number, first = 0): RunEnded[] =>
  Array.from({ length: count }, (_, index) => makeRun(tenantId, first + index));

const eventsOf = (runs: readonly RunEnded[]): Received[] => runs.map((run) => received(run));

const wholeDays = { from: new Date(firstDay - dayMs), to: new Date(today) };
const oddPeriod = {
  from: new Date(firstDay + 7 * hourMs + 20 * minuteMs),
  to: new Date(firstDay + 2 * dayMs + 22 * hourMs + 47 * minuteMs),
};

/** Requests that rows of each kind serve, and some that none serves. */
const requests: readonly SummaryRequest[] = [wholeDays, oddPeriod].flatMap((period) => {
  const request = { period, filter: noFilter, groupBy: [], timezone: 'UTC' };
  return [
    request,
    { ...request, groupBy: ['model', 'client'] },
    { ...request, groupBy: ['hour'] },
    { ...request, groupBy: ['day', 'provider'], timezone: 'Europe/Berlin' },
    { ...request, groupBy: ['day'], timezone: 'Asia/Kathmandu' },
    { ...request, groupBy: ['agent'] },
    { ...request, groupBy: ['agent', 'day'] },
    { ...request, groupBy: ['agent', 'day'], timezone: 'America/St_Johns' },
    { ...request, groupBy: ['model'], filter: { ...noFilter, agentId: agents[1] ?? null } },
    { ...request, groupBy: ['user'] },
    { ...request, groupBy: ['user', 'month'], timezone: 'Europe/Berlin' },
    { ...request, groupBy: ['api_key', 'model'] },
    { ...request, groupBy: ['api_key'], figures: 'costs' },
    { ...request, figures: 'costs', filter: { ...noFilter, apiKeyId: keys[1] ?? null, model: 'small' } },
    { ...request, groupBy: ['session', 'agent'] },
    { ...request, filter: { ...noFilter, user: 'ann' } },
  ] satisfies SummaryRequest[];
});

const setStates = (from: string, to: string) =>
  admin.query('update analytics.settled_days set state = $2 where state = $1', [from, to]);

/** Compares the summaries of a tenant from settled days with those from the roll-ups of quarters of an hour. */
async function expectEqualFigures(tenantId: string): Promise<void> {
  const summarizeAll = () => Promise.all(requests.map((request) => usage.summarize(tenantId, request)));
  const settled = await summarizeAll();
  await setStates('settled', 'small');
  const others = await summarizeAll();
  await setStates('small', 'settled');
  for (const [index, { groupBy, timezone }] of requests.entries())
    expect({ groupBy, timezone, summary: settled[index] }).toEqual({
      groupBy,
      timezone,
      summary: others[index],
    });
}

async function statesOf(tenantId: string): Promise<string[]> {
  const { rows } = await admin.query<{ state: string }>(
    'select state from analytics.settled_days where tenant_id = $1 order by day',
    [tenantId],
  );
  return rows.map(({ state }) => state);
}

/** Settled days whose sums differ from the runs that are counted, as at one moment. */
async function wrongDays(): Promise<unknown[]> {
  const { rows } = await admin.query<object>(
    `select tenant_id, day, kind, sums.requests, runs.requests as counted
     from analytics.settled_days
       cross join unnest(array['hour', 'agent', 'api_key', 'user']) as kinds (kind)
       cross join lateral (
         select coalesce(sum(requests), 0) as requests from analytics.settled_usage as own
         where own.tenant_id = settled_days.tenant_id and own.kind = kinds.kind and bucket >= day
           and bucket < day + interval '1 day') as sums
       cross join lateral (
         select coalesce(sum(requests), 0) as requests from analytics.usage as own
         where own.tenant_id = settled_days.tenant_id and bucket >= day and bucket < day + interval '1 day') as runs
     where state = 'settled' and sums.requests <> runs.requests`,
  );
  return rows;
}

describe('a settled day', () => {
  it('has the figures of its quarters of an hour, after late runs, corrections and forgotten users', async () => {
    const changes = fc.array(
      fc.record({
        kind: fc.constantFrom('late', 'late', 'corrected', 'forgotten', 'settled'),
        seed: fc.integer({ min: 1_000, max: 1_000_000 }),
      }),
      { minLength: 1, maxLength: 5 },
    );
    await fc.assert(
      fc.asyncProperty(changes, async (steps) => {
        const tenantId = newId();
        const runs = makeRuns(tenantId, 150);
        await fixture.ingest.take(eventsOf(runs));
        const settling = makeSettling();
        await settling.settle();
        expect(await statesOf(tenantId)).toEqual(Array.from({ length: 4 }, () => 'settled'));
        for (const { kind, seed } of steps) {
          if (kind === 'late') await fixture.ingest.take(eventsOf(makeRuns(tenantId, 3, seed)));
          if (kind === 'corrected') {
            const { run_id } = pick(runs, seed);
            await fixture.ingest.take([correction({ ...makeRun(tenantId, seed), run_id })]);
          }
          if (kind === 'forgotten') {
            const user = { tenantId, userId: pick(['ann', 'bob'], seed), requestedAt: new Date() };
            await eventually(async () =>
              expect((await forget(user, { pool: fixture.writing, settleMs: 0 })).completed).toBe(true),
            );
          }
          if (kind === 'settled') await settling.settle();
          expect(await wrongDays()).toEqual([]);
          await expectEqualFigures(tenantId);
        }
        await settling.settle();
        expect(await statesOf(tenantId)).toEqual(Array.from({ length: 4 }, () => 'settled'));
        expect(await wrongDays()).toEqual([]);
        await expectEqualFigures(tenantId);
      }),
      { numRuns: 4 },
    );
  });

  it('is what summaries read', async () => {
    const tenantId = newId();
    await fixture.ingest.take(eventsOf(makeRuns(tenantId, 100)));
    await makeSettling().settle();
    const kindsOf = (request: SummaryRequest) =>
      withTenantSnapshot(fixture.reading, tenantId, (db) => readParts(db, tenantId, request));
    for (const kind of ['hour', 'agent', 'api_key', 'user']) {
      await admin.query(
        'update analytics.settled_usage set requests = requests + 1000 where tenant_id = $1 and kind = $2',
        [tenantId, kind],
      );
      let served = 0;
      for (const request of requests) {
        const { totals, groups } = await usage.summarize(tenantId, request);
        const parts = await kindsOf(request);
        const [first = totals] = groups.toSorted((one, other) => other.requests - one.requests);
        expect({ request, isRead: first.requests > 1_000 }).toEqual({
          request,
          isRead: parts.kind === kind,
        });
        if (parts.kind === kind) served += 1;
      }
      expect(served).toBeGreaterThan(1);
      await admin.query(
        'update analytics.settled_usage set requests = requests - 1000 where tenant_id = $1 and kind = $2',
        [tenantId, kind],
      );
    }
  });

  it('keeps its figures when its traces are deleted', async () => {
    const tenantId = newId();
    await fixture.ingest.take(eventsOf(makeRuns(tenantId, 100)));
    await makeSettling().settle();
    const request = { period: wholeDays, filter: noFilter, groupBy: ['agent'], timezone: 'UTC' } as const;
    const before = await usage.summarize(tenantId, request);
    expect(await deleteTraces(fixture.writing, { tenantId, olderThanDays: -1, limit: 1_000 })).toBe(100);
    expect(await usage.summarize(tenantId, request)).toEqual(before);
    expect(before.totals.requests).toBe(100);
  });

  it('has nothing of a forgotten user, though it is not added up again yet', async () => {
    const tenantId = newId();
    await fixture.ingest.take(eventsOf(makeRuns(tenantId, 60)));
    await makeSettling().settle();
    const usersOf = async () => {
      const { rows } = await admin.query<{ user: string | null }>(
        'select distinct user_id as user from analytics.settled_usage where tenant_id = $1 order by 1',
        [tenantId],
      );
      return rows.map(({ user }) => user);
    };
    expect(await usersOf()).toEqual(['ann', 'bob', 'eve', null]);
    const user = { tenantId, userId: 'ann', requestedAt: new Date() };
    await eventually(async () =>
      expect((await forget(user, { pool: fixture.writing, settleMs: 0 })).completed).toBe(true),
    );
    expect(await usersOf()).toEqual(['bob', 'eve', null]);
    await makeSettling().settle();
    expect(await usersOf()).toEqual(['bob', 'eve', expect.stringMatching(/^forgotten-/), null]);
    await expectEqualFigures(tenantId);
  });

  it('is left to its quarters of an hour if it has few rows, until it has more', async () => {
    const tenantId = newId();
    const settling = makeSettling(1_000, 20);
    const at = (index: number) => new Date(firstDay + index * 16 * minuteMs).toISOString();
    const runs = Array.from({ length: 30 }, (_, index) =>
      makeEnd({ tenant_id: tenantId, ended_at: at(index) }),
    );
    await fixture.ingest.take(eventsOf(runs.slice(0, 19)));
    await settling.settle();
    expect(await statesOf(tenantId)).toEqual(['small']);
    await fixture.ingest.take(eventsOf(runs.slice(19)));
    expect(await statesOf(tenantId)).toEqual(['changed']);
    await settling.settle();
    expect(await statesOf(tenantId)).toEqual(['settled']);
    expect(await wrongDays()).toEqual([]);
  });
});

describe('settling', () => {
  it('leaves the day under way alone, and counts into it cost no row', async () => {
    const tenantId = newId();
    await fixture.ingest.take([received(makeEnd({ tenant_id: tenantId }))]);
    await makeSettling().settle();
    expect(await statesOf(tenantId)).toEqual([]);
  });

  it('leaves a day that takes too long to its quarters of an hour, and goes on', async () => {
    const [tenantId, other] = [newId(), newId()].toSorted();
    const settings = { statement_timeout: '2000' };
    const pool = createPool({ url: fixture.database.url, role: 'analytics_system', max: 1, log, settings });
    const runs = makeRuns(String(tenantId), 50);
    await fixture.ingest.take(eventsOf(runs.slice(0, 1)));
    const settling = new Settling({ pool, log, registry: createRegistry('test'), sizes: { least: 1 } });
    // Only adding up reads this table.
    await admin.query('begin; lock table analytics.usage_users in access exclusive mode');
    await settling.settle();
    await admin.query('rollback');
    expect(await statesOf(String(tenantId))).toEqual(['small']);
    await fixture.ingest.take(eventsOf([...runs, makeRun(String(other), 1)]));
    await settling.settle();
    await pool.end();
    expect(await statesOf(String(tenantId))).toEqual(Array.from({ length: 4 }, () => 'settled'));
    expect(await statesOf(String(other))).toEqual(['settled']);
    expect(await wrongDays()).toEqual([]);
  });

  it('starts a day again that has changed between two of its parts', async () => {
    const tenantId = newId();
    await fixture.ingest.take(eventsOf(makeRuns(tenantId, 200)));
    const day = new Date(firstDay);
    const part = () => settlePart(fixture.writing, { tenantId, day }, { least: 1, most: 5 });
    expect([await part(), await part(), await part()]).toEqual(['open', 'open', 'open']);
    const late = { tenant_id: tenantId, ended_at: new Date(firstDay + 1).toISOString() };
    await fixture.ingest.take([received(makeEnd(late))]);
    expect((await statesOf(tenantId))[0]).toBe('changed');
    await makeSettling(5).settle();
    expect(await statesOf(tenantId)).toEqual(Array.from({ length: 4 }, () => 'settled'));
    expect(await wrongDays()).toEqual([]);
    await expectEqualFigures(tenantId);
  });

  it.each([0, 1, 3])(
    'waits for what is being counted, or starts again, %i parts into a day',
    async (parts) => {
      const tenantId = newId();
      await fixture.ingest.take(eventsOf(makeRuns(tenantId, 200)));
      const day = new Date(firstDay);
      const part = () => settlePart(fixture.writing, { tenantId, day }, { least: 1, most: 5 });
      for (let done = 0; done < parts; done += 1) await part();
      // As any release counts: it adds to the roll-ups in one transaction, and knows nothing of days.
      await admin.query('begin');
      await admin.query(
        'update analytics.usage set requests = requests + 10 where tenant_id = $1 and bucket < $2',
        [tenantId, new Date(firstDay + dayMs)],
      );
      await admin.query(
        'update analytics.usage_totals set requests = requests + 10 where tenant_id = $1 and bucket < $2',
        [tenantId, new Date(firstDay + dayMs)],
      );
      const next = part();
      await eventually(async () => {
        const { rows } = await admin.query<object>(
          `select from pg_locks where not granted and locktype = 'transactionid'`,
        );
        expect(rows).toHaveLength(1);
      });
      await admin.query('commit');
      await next;
      await makeSettling(5).settle();
      expect(await statesOf(tenantId)).toEqual(Array.from({ length: 4 }, () => 'settled'));
      expect(await wrongDays()).toEqual([]);
    },
  );

  it('by two replicas is right at every moment while both count runs into the days', async () => {
    const tenantId = newId();
    await fixture.ingest.take(eventsOf(makeRuns(tenantId, 100)));
    const replicas = [makeSettling(10), makeSettling(10)];
    const counted = new AbortController();
    const settling = replicas.map(async (replica) => {
      while (!counted.signal.aborted) await replica.settle();
    });
    const watching = (async () => {
      let seen = 0;
      for (; !counted.signal.aborted; seen += 1) expect(await wrongDays()).toEqual([]);
      return seen;
    })();
    for (let round = 0; round < 15; round += 1) {
      const runs = eventsOf(makeRuns(tenantId, 8, 100 + round * 8));
      await Promise.all([fixture.ingest.take(runs.slice(0, 5)), fixture.ingest.take(runs.slice(3))]);
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    counted.abort();
    await Promise.all(settling);
    expect(await watching).toBeGreaterThan(3);
    await makeSettling().settle();
    expect(await statesOf(tenantId)).toEqual(Array.from({ length: 4 }, () => 'settled'));
    await expectEqualFigures(tenantId);
    const { totals } = await usage.summarize(tenantId, requests[0] as SummaryRequest);
    expect(totals.requests).toBe(220);
  });
});
