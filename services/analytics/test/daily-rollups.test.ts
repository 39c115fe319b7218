import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { createRegistry } from '@gatehouse/kit/metrics';
import { createPool } from '@gatehouse/pg/pool';
import { lockWaits } from '@gatehouse/test/lock-waits';
import { eventually } from '@gatehouse/test/eventually';
import fc from 'fast-check';
import { forget } from '../src/forgetting/forget-user-job.ts';
import { DailyRollupJob } from '../src/daily-rollups/daily-rollup-job.ts';
import { dailyRollupPgStore } from '../src/daily-rollups/daily-rollup-system-pg-store.ts';
import type { SummaryRequest } from '../src/usage/summary.ts';
import { correction, makeEnd, received } from './event-fixture.ts';
import { noFilter } from './ingest-fixture.ts';
import {
  dayMs,
  eventsOf,
  firstDay,
  log,
  makeRun,
  makeRuns,
  minuteMs,
  pick,
  requests,
  SettlingGround,
  wholeDays,
  zoneOf,
  zones,
  zonesOfTenants,
} from './daily-rollup-fixture.ts';

let ground: SettlingGround;
beforeAll(async () => {
  ground = await SettlingGround.start();
});
afterAll(() => ground.stop());

describe('a settled day', () => {
  it('has the figures of its quarters of an hour, after late runs, corrections and forgotten users', async () => {
    const changes = fc.array(
      fc.record({
        kind: fc.constantFrom('late', 'late', 'corrected', 'forgotten', 'settled', 'moved'),
        seed: fc.integer({ min: 1_000, max: 1_000_000 }),
      }),
      { minLength: 1, maxLength: 5 },
    );
    // Summer time begins in Berlin on 30 March 2025, and ends in Newfoundland on 2 November.
    const days = fc.constantFrom(firstDay, Date.UTC(2025, 2, 28), Date.UTC(2025, 9, 31));
    const zone = fc.constantFrom(...zonesOfTenants);
    await fc.assert(
      fc.asyncProperty(changes, days, zone, async (steps, from, firstZone) => {
        const tenantId = newId();
        zones.set(tenantId, firstZone);
        const runs = makeRuns(tenantId, 150, 0, from);
        await ground.fixture.count(eventsOf(runs));
        let settling = ground.makeSettling();
        await settling.settle();
        expect(await ground.statesOf(tenantId)).toEqual(Array.from({ length: 4 }, () => 'settled'));
        for (const { kind, seed } of steps) {
          if (kind === 'late') await ground.fixture.count(eventsOf(makeRuns(tenantId, 3, seed, from)));
          if (kind === 'corrected') {
            const { run_id } = pick(runs, seed);
            await ground.fixture.count([correction({ ...makeRun(tenantId, seed, from), run_id })]);
          }
          if (kind === 'forgotten') {
            const user = { tenantId, userId: pick(['ann', 'bob'], seed), requestedAt: new Date() };
            await eventually(async () =>
              expect(
                (await forget(user, { store: ground.fixture.stores.deletions, settleMs: 0 })).completed,
              ).toBe(true),
            );
          }
          if (kind === 'moved') {
            zones.set(tenantId, pick(zonesOfTenants, seed));
            settling = ground.makeSettling();
          }
          if (kind === 'settled') await settling.settle();
          expect(await ground.wrongDays()).toEqual([]);
          await ground.expectEqualFigures(tenantId, from);
        }
        await settling.settle();
        expect(await ground.statesOf(tenantId)).toEqual(Array.from({ length: 4 }, () => 'settled'));
        expect(await ground.wrongDays()).toEqual([]);
        await ground.expectEqualFigures(tenantId, from);
      }),
      { numRuns: 6 },
    );
  });

  it('is what summaries read', async () => {
    const tenantId = newId();
    await ground.fixture.count(eventsOf(makeRuns(tenantId, 100)));
    await ground.makeSettling().settle();
    for (const kind of ['hour', 'agent', 'api_key', 'user', 'session', 'group']) {
      await ground.admin.query(
        'update analytics.settled_usage set requests = requests + 1000 where tenant_id = $1 and kind = $2',
        [tenantId, kind],
      );
      let served = 0;
      for (const request of requests) {
        const { totals, groups } = await ground.usage.summarize(tenantId, request);
        const parts = await ground.partsOf(tenantId, request);
        const [first = totals] = groups.toSorted((one, other) => other.requests - one.requests);
        expect({ request, isRead: first.requests > 1_000 }).toEqual({
          request,
          isRead: parts.kind === kind,
        });
        if (parts.kind === kind) served += 1;
      }
      expect(served).toBeGreaterThan(1);
      await ground.admin.query(
        'update analytics.settled_usage set requests = requests - 1000 where tenant_id = $1 and kind = $2',
        [tenantId, kind],
      );
    }
  });

  it('keeps its figures when its traces are deleted', async () => {
    const tenantId = newId();
    await ground.fixture.count(eventsOf(makeRuns(tenantId, 100)));
    await ground.makeSettling().settle();
    const request = { period: wholeDays, filter: noFilter, groupBy: ['agent'], timezone: 'UTC' } as const;
    const before = await ground.usage.summarize(tenantId, request);
    expect(
      await ground.fixture.stores.retention.deleteTraces({ tenantId, olderThanDays: -1, limit: 1_000 }),
    ).toBe(100);
    expect(await ground.usage.summarize(tenantId, request)).toEqual(before);
    expect(before.totals.requests).toBe(100);
  });

  it('has nothing of a forgotten user, though it is not added up again yet', async () => {
    const tenantId = newId();
    await ground.fixture.count(eventsOf(makeRuns(tenantId, 60)));
    await ground.makeSettling().settle();
    const usersOf = async () => {
      const { rows } = await ground.admin.query<{ user: string | null }>(
        'select distinct user_id as user from analytics.settled_usage where tenant_id = $1 order by 1',
        [tenantId],
      );
      return rows.map(({ user }) => user);
    };
    expect(await usersOf()).toEqual(['ann', 'bob', 'eve', null]);
    const user = { tenantId, userId: 'ann', requestedAt: new Date() };
    await eventually(async () =>
      expect((await forget(user, { store: ground.fixture.stores.deletions, settleMs: 0 })).completed).toBe(
        true,
      ),
    );
    expect(await usersOf()).toEqual(['bob', 'eve', null]);
    await ground.makeSettling().settle();
    expect(await usersOf()).toEqual(['bob', 'eve', expect.stringMatching(/^forgotten-/), null]);
    await ground.expectEqualFigures(tenantId);
  });

  it('is left to its quarters of an hour if it has few rows, until it has more', async () => {
    const tenantId = newId();
    const settling = ground.makeSettling(1_000, 20);
    const at = (index: number) => new Date(firstDay + index * 16 * minuteMs).toISOString();
    const runs = Array.from({ length: 30 }, (_, index) =>
      makeEnd({ tenant_id: tenantId, ended_at: at(index) }),
    );
    await ground.fixture.count(eventsOf(runs.slice(0, 19)));
    await settling.settle();
    expect(await ground.statesOf(tenantId)).toEqual(['small']);
    await ground.fixture.count(eventsOf(runs.slice(19)));
    expect(await ground.statesOf(tenantId)).toEqual(['changed']);
    await settling.settle();
    expect(await ground.statesOf(tenantId)).toEqual(['settled']);
    expect(await ground.wrongDays()).toEqual([]);
  });
});

describe('settling', () => {
  it('leaves the day under way alone, and counts into it cost no row', async () => {
    const tenantId = newId();
    await ground.fixture.count([received(makeEnd({ tenant_id: tenantId }))]);
    await ground.makeSettling().settle();
    expect(await ground.statesOf(tenantId)).toEqual([]);
  });

  it('leaves a day that takes too long to its quarters of an hour, and goes on', async () => {
    const [tenantId, other] = [newId(), newId()].toSorted();
    const settings = { statement_timeout: '2000' };
    const pool = createPool({
      url: ground.fixture.database.url,
      role: 'analytics_system',
      max: 1,
      log,
      settings,
    });
    const runs = makeRuns(String(tenantId), 50);
    await ground.fixture.count(eventsOf(runs.slice(0, 1)));
    const settling = new DailyRollupJob({
      ...{ store: dailyRollupPgStore(pool), zones: { zoneOf }, log, registry: createRegistry('test') },
      sizes: { least: 1 },
    });
    // Only adding up reads this table.
    await ground.admin.query('begin; lock table analytics.usage_users in access exclusive mode');
    await settling.settle();
    await ground.admin.query('rollback');
    expect(await ground.statesOf(String(tenantId))).toEqual(['small']);
    await ground.fixture.count(eventsOf([...runs, makeRun(String(other), 1)]));
    await settling.settle();
    await pool.end();
    expect(await ground.statesOf(String(tenantId))).toEqual(Array.from({ length: 4 }, () => 'settled'));
    expect(await ground.statesOf(String(other))).toEqual(['settled']);
    expect(await ground.wrongDays()).toEqual([]);
  });

  it('starts a day again that has changed between two of its parts', async () => {
    const tenantId = newId();
    await ground.fixture.count(eventsOf(makeRuns(tenantId, 200)));
    const day = new Date(firstDay);
    const part = () =>
      ground.fixture.stores.dailyRollups.settlePart(
        { tenantId, day },
        { least: 1, most: 5, timezone: 'UTC' },
      );
    expect([await part(), await part(), await part()]).toEqual(['open', 'open', 'open']);
    const late = { tenant_id: tenantId, ended_at: new Date(firstDay + 1).toISOString() };
    await ground.fixture.count([received(makeEnd(late))]);
    expect((await ground.statesOf(tenantId))[0]).toBe('changed');
    await ground.makeSettling(5).settle();
    expect(await ground.statesOf(tenantId)).toEqual(Array.from({ length: 4 }, () => 'settled'));
    expect(await ground.wrongDays()).toEqual([]);
    await ground.expectEqualFigures(tenantId);
  });

  it.each([0, 1, 3])(
    'waits for what is being counted, or starts again, %i parts into a day',
    async (parts) => {
      const tenantId = newId();
      await ground.fixture.count(eventsOf(makeRuns(tenantId, 200)));
      const day = new Date(firstDay);
      const part = () =>
        ground.fixture.stores.dailyRollups.settlePart(
          { tenantId, day },
          { least: 1, most: 5, timezone: 'UTC' },
        );
      for (let done = 0; done < parts; done += 1) await part();
      // As any release counts: it adds to the roll-ups in one transaction, and knows nothing of days.
      await ground.admin.query('begin');
      await ground.admin.query(
        'update analytics.usage set requests = requests + 10 where tenant_id = $1 and bucket < $2',
        [tenantId, new Date(firstDay + dayMs)],
      );
      await ground.admin.query(
        'update analytics.usage_totals set requests = requests + 10 where tenant_id = $1 and bucket < $2',
        [tenantId, new Date(firstDay + dayMs)],
      );
      const next = part();
      await eventually(async () => {
        const { rows } = await ground.admin.query<object>(
          `select from ${lockWaits} where locktype = 'transactionid'`,
        );
        expect(rows).toHaveLength(1);
      });
      await ground.admin.query('commit');
      await next;
      await ground.makeSettling(5).settle();
      expect(await ground.statesOf(tenantId)).toEqual(Array.from({ length: 4 }, () => 'settled'));
      expect(await ground.wrongDays()).toEqual([]);
    },
  );

  it('by two replicas is right at every moment while both count runs into the days', async () => {
    const tenantId = newId();
    await ground.fixture.count(eventsOf(makeRuns(tenantId, 100)));
    const replicas = [ground.makeSettling(10), ground.makeSettling(10)];
    const counted = new AbortController();
    const settling = replicas.map(async (replica) => {
      while (!counted.signal.aborted) {
        await replica.settle();
        await sleep(20);
      }
    });
    const watching = (async () => {
      let seen = 0;
      for (; !counted.signal.aborted; seen += 1) {
        expect(await ground.wrongDays()).toEqual([]);
        await sleep(20);
      }
      return seen;
    })();
    for (let round = 0; round < 15; round += 1) {
      const runs = eventsOf(makeRuns(tenantId, 8, 100 + round * 8));
      await Promise.all([ground.fixture.count(runs.slice(0, 5)), ground.fixture.count(runs.slice(3))]);
      await sleep(60);
    }
    counted.abort();
    await Promise.all(settling);
    expect(await watching).toBeGreaterThan(3);
    await ground.makeSettling().settle();
    expect(await ground.statesOf(tenantId)).toEqual(Array.from({ length: 4 }, () => 'settled'));
    await ground.expectEqualFigures(tenantId);
    const { totals } = await ground.usage.summarize(tenantId, requests[0] as SummaryRequest);
    expect(totals.requests).toBe(220);
  });
});
