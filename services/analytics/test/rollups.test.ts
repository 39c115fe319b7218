import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { lockWaits } from '@gatehouse/test/lock-waits';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import { foldRuns, RollupJob } from '../src/rollups/rollup-job.ts';
import { forget } from '../src/forgetting/forget-user-job.ts';
import type { Summary, SummaryRequest } from '../src/usage/summary.ts';
import type { UsageStore } from '../src/usage/usage-store.ts';
import { correction, makeCall, makeEnd, makeStart, received } from './event-fixture.ts';
import { noFilter, startIngest, type IngestFixture } from './ingest-fixture.ts';

let fixture: IngestFixture;
let usage: UsageStore;
let admin: Client;
beforeAll(async () => {
  fixture = await startIngest();
  usage = fixture.stores.usage;
  admin = new Client({ connectionString: fixture.database.adminUrl });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await fixture.stop();
});

const year = { from: new Date('2026-01-01T00:00:00Z'), to: new Date('2027-01-01T00:00:00Z') };

const summarize = (tenantId: string, request: Partial<SummaryRequest> = {}): Promise<Summary> =>
  usage.summarize(tenantId, { period: year, filter: noFilter, groupBy: [], timezone: 'UTC', ...request });

const requestsOf = async (tenantId: string): Promise<number> => (await summarize(tenantId)).totals.requests;

/** The requests that are in the roll-ups. */
async function foldedOf(tenantId: string): Promise<number> {
  const { rows } = await admin.query<{ requests: number }>(
    `select coalesce(sum(requests), 0)::integer as requests from analytics.usage where tenant_id = $1`,
    [tenantId],
  );
  return rows[0]?.requests ?? NaN;
}

const folding = (stored: () => number): RollupJob =>
  new RollupJob({
    ...{ store: fixture.stores.rollups, stored },
    ...{ log: createLogger('test', 'silent'), registry: createRegistry('test') },
  });

const currentFold = async (): Promise<number> => {
  const { rows } = await admin.query<{ fold: number }>(
    'select current_fold::integer as fold from analytics.folds',
  );
  return rows[0]?.fold ?? NaN;
};

const endsOf = (tenantId: string, count: number) =>
  Array.from({ length: count }, (_, index) =>
    received(makeEnd({ tenant_id: tenantId, api_key_id: null, user_id: `user ${index % 3}` })),
  );

/** Resolves once `count` sessions wait for locks of `relation`. */
const waiting = (relation: string, count = 1): Promise<number[]> =>
  eventually(async () => {
    const { rows } = await admin.query<{ pid: number }>(
      `select distinct pid from ${lockWaits} where relation = $1::regclass`,
      [relation],
    );
    expect(rows).toHaveLength(count);
    return rows.map(({ pid }) => pid);
  });

describe('a fold', () => {
  it('changes no figure, in any grouping, also on days of 23 and 25 hours', async () => {
    const tenant_id = newId();
    const times = [
      '2026-03-28T22:59:59.999Z',
      '2026-03-28T23:00:00.000Z',
      '2026-03-29T21:59:59.999Z',
      '2026-10-24T22:00:00.000Z',
      '2026-10-25T22:59:59.999Z',
      '2026-10-25T23:00:00.000Z',
    ];
    const unpriced = { priced: false, cost_pico: null, spans: [makeCall({ model: 'odd', cost_pico: null })] };
    const ends = times.map((ended_at, index) =>
      makeEnd({
        ...{
          tenant_id,
          ended_at,
          user_id: ['ann', 'bob', null][index % 3] ?? null,
          session_id: `s${index % 2}`,
        },
        ...(index === 4 && unpriced),
      }),
    );
    await fixture.ingest.take(ends.map((end) => received(end)));
    const requests = (['day', 'hour', 'month', 'user', 'session', 'api_key', 'model'] as const).flatMap(
      (key) => ['Europe/Berlin', 'Asia/Kathmandu'].map((timezone) => ({ groupBy: [key], timezone })),
    );
    const figures = () => Promise.all(requests.map((request) => summarize(tenant_id, request)));
    const before = await figures();
    expect(before[0]?.groups.map(({ key, requests: runs }) => `${key.day ?? ''}: ${runs}`)).toEqual([
      '2026-03-28: 1',
      '2026-03-29: 2',
      '2026-10-25: 2',
      '2026-10-26: 1',
    ]);
    expect(before[0]?.totals).toMatchObject({ requests: 6, uniqueUsers: 2, unpricedModels: ['odd'] });
    await fixture.stores.rollups.closeFold();
    expect(await figures()).toEqual(before);
    expect(await foldedOf(tenant_id)).toBe(0);
    await fixture.stores.rollups.addClosedFold();
    expect(await foldedOf(tenant_id)).toBe(6);
    expect(await figures()).toEqual(before);
  });

  it('that is cut off before its end leaves nothing, and is added once afterwards', async () => {
    const tenantId = newId();
    await foldRuns(fixture.stores.rollups);
    await fixture.ingest.take(endsOf(tenantId, 9));
    await fixture.stores.rollups.closeFold();
    // All sums are written when it comes to this lock.
    await admin.query('begin; lock table analytics.folds in share mode');
    const cut = expect(fixture.stores.rollups.addClosedFold()).rejects.toThrow();
    const [pid] = await waiting('analytics.folds');
    await admin.query('select pg_terminate_backend($1)', [pid]);
    await cut;
    await admin.query('rollback');
    expect([await foldedOf(tenantId), await requestsOf(tenantId)]).toEqual([0, 9]);
    expect(await foldRuns(fixture.stores.rollups)).toBe(9);
    expect(await foldRuns(fixture.stores.rollups)).toBe(0);
    expect([await foldedOf(tenantId), await requestsOf(tenantId)]).toEqual([9, 9]);
  });

  it('is added once by several replicas, while others store runs, and figures are right at every moment', async () => {
    const tenantId = newId();
    let stored = 0;
    const over = new AbortController();
    const folding = [1, 2].map(async () => {
      while (!over.signal.aborted) {
        await foldRuns(fixture.stores.rollups);
        await sleep(20);
      }
    });
    const reading = (async () => {
      let least = 0;
      while (!over.signal.aborted) {
        const before = stored;
        const requests = await requestsOf(tenantId);
        expect(requests).toBeGreaterThanOrEqual(Math.max(before, least));
        least = requests;
        await sleep(20);
      }
    })();
    for (let round = 0; round < 20; round += 1) {
      const ends = endsOf(tenantId, 12);
      // Some events come twice, at the same time.
      await Promise.all([fixture.ingest.take(ends.slice(0, 8)), fixture.ingest.take(ends.slice(4))]);
      stored += 12;
    }
    over.abort();
    await Promise.all([...folding, reading]);
    await foldRuns(fixture.stores.rollups);
    expect([await foldedOf(tenantId), await requestsOf(tenantId)]).toEqual([240, 240]);
    expect((await summarize(tenantId)).totals).toMatchObject({ uniqueUsers: 3, inputTokens: 2_400 });
  });

  it('is not closed while a statement stores runs of it', async () => {
    const tenantId = newId();
    await fixture.ingest.take(endsOf(tenantId, 1));
    await admin.query('begin; select current_fold from analytics.folds for share');
    const closed = fixture.stores.rollups.closeFold();
    await waiting('analytics.folds');
    await admin.query(
      `update analytics.traces set fold = (select current_fold from analytics.folds) where tenant_id = $1`,
      [tenantId],
    );
    await admin.query('commit');
    await closed;
    await fixture.stores.rollups.addClosedFold();
    expect(await foldedOf(tenantId)).toBe(1);
  });

  it('that waits for a slow statement lets others pass after a while, and is closed later', async () => {
    const tenantId = newId();
    await fixture.ingest.take(endsOf(tenantId, 1));
    await admin.query('begin; select current_fold from analytics.folds for key share');
    expect(await fixture.stores.rollups.closeFold({ lockMs: 100 })).toBe(false);
    await fixture.ingest.take(endsOf(tenantId, 1));
    await admin.query('commit');
    expect(await fixture.stores.rollups.closeFold()).toBe(true);
    await fixture.stores.rollups.addClosedFold();
    expect(await foldedOf(tenantId)).toBe(2);
  });

  it('is added while a statement stores runs of the next one', async () => {
    const start = makeStart({ user_id: 'ada' });
    await fixture.ingest.take([received(start), ...endsOf(start.tenant_id, 1)]);
    await fixture.stores.rollups.closeFold();
    await admin.query('begin');
    await admin.query('select from analytics.traces where id = $1 for update', [start.run_id]);
    const stored = fixture.ingest.take([received(makeEnd(start))]);
    await eventually(async () => {
      const { rowCount } = await admin.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(rowCount).toBe(1);
    });
    await fixture.stores.rollups.addClosedFold();
    await admin.query('commit');
    await stored;
    expect(await foldedOf(start.tenant_id)).toBe(1);
  });

  it('comes before the deletion of its traces', async () => {
    const tenantId = newId();
    await fixture.ingest.take(endsOf(tenantId, 5));
    const sweep = () => fixture.stores.retention.deleteTraces({ tenantId, olderThanDays: -1, limit: 100 });
    expect(await sweep()).toBe(0);
    await foldRuns(fixture.stores.rollups);
    expect(await sweep()).toBe(5);
    const day = 86_400_000;
    const today = Math.floor(Date.now() / day) * day;
    const period = { from: new Date(today - day), to: new Date(today + 2 * day) };
    expect((await summarize(tenantId, { period })).totals.requests).toBe(5);
  });

  it('comes before a deletion replaces its user, who stays one user in every figure', async () => {
    const tenant_id = newId();
    const ends = Array.from({ length: 3 }, () => received(makeEnd({ tenant_id, user_id: 'ada' })));
    await fixture.count(ends.slice(0, 1));
    await fixture.ingest.take(ends.slice(1));
    const user = { tenantId: tenant_id, userId: 'ada', requestedAt: new Date() };
    const pass = () => forget(user, { store: fixture.stores.deletions, settleMs: 0 });
    expect(await pass()).toEqual({ traces: 1, completed: false });
    // The deletion adds no fold by itself.
    expect(await pass()).toEqual({ traces: 0, completed: false });
    expect(await foldedOf(tenant_id)).toBe(1);
    expect((await summarize(tenant_id)).totals).toMatchObject({ requests: 3, uniqueUsers: 1 });
    await foldRuns(fixture.stores.rollups);
    expect((await pass()).traces).toBe(2);
    await eventually(async () => expect((await pass()).completed).toBe(true));
    const { totals, groups } = await summarize(tenant_id, { groupBy: ['user'] });
    expect(groups).toEqual([
      { ...totals, key: { user: expect.stringMatching(/^forgotten-/) }, unpricedModels: [] },
    ]);
    expect(totals).toMatchObject({ requests: 3, uniqueUsers: 1 });
    expect((await summarize(tenant_id)).totals).toEqual(totals);
  });

  it('counts the user of a run that ends while their data are deleted', async () => {
    const user = { tenantId: newId(), userId: 'ada' };
    const start = makeStart({ tenant_id: user.tenantId, user_id: 'ada' });
    await fixture.ingest.take([received(start)]);
    const deletion = { requestedAtMs: Date.now(), pseudonym: `forgotten-${newId()}` };
    await fixture.stores.deletions.noteDeletion(user, deletion);
    expect(await fixture.stores.deletions.forgetTraces(user, 0)).toEqual({ changed: 1, more: false });
    await fixture.count([received(makeEnd(start))]);
    expect((await summarize(user.tenantId)).totals).toMatchObject({ requests: 1, uniqueUsers: 1 });
    await eventually(async () => expect((await fixture.stores.deletions.forgetUsage(user)).done).toBe(true));
    expect((await summarize(user.tenantId)).totals).toMatchObject({ requests: 1, uniqueUsers: 1 });
  });

  it('of a run that changes while a deletion reads it keeps the user until it is added', async () => {
    await eventually(async () => {
      const user = { tenantId: newId(), userId: 'ada' };
      await fixture.count([received(makeEnd({ tenant_id: user.tenantId, user_id: 'ada' }))]);
      await fixture.stores.deletions.noteDeletion(user, { requestedAtMs: Date.now(), pseudonym: newId() });
      // As the statement does that stores an end.
      await admin.query('begin');
      await admin.query(
        `update analytics.traces set fold = (select current_fold from analytics.folds) where tenant_id = $1`,
        [user.tenantId],
      );
      const [batch] = await Promise.all([
        fixture.stores.deletions.forgetTraces(user, 0),
        sleep(100).then(() => admin.query('commit')),
      ]);
      expect(batch).toEqual({ changed: 0, more: false });
    });
  });

  it('has a user who comes back while a deletion ends', async () => {
    const user = { tenantId: newId(), userId: 'ada' };
    const of = { tenant_id: user.tenantId, user_id: 'ada' };
    await fixture.count([received(makeEnd(of))]);
    const deletion = { requestedAtMs: Date.now(), pseudonym: `forgotten-${newId()}` };
    await fixture.stores.deletions.noteDeletion(user, deletion);
    await fixture.stores.deletions.forgetTraces(user, 0);
    const started_at = new Date(Date.now() + 5_000).toISOString();
    await fixture.ingest.take([received(makeEnd({ ...of, started_at }))]);
    await eventually(async () => expect((await fixture.stores.deletions.forgetUsage(user)).done).toBe(true));
    const before = await summarize(user.tenantId);
    await foldRuns(fixture.stores.rollups);
    expect(before.totals).toMatchObject({ requests: 2, uniqueUsers: 2 });
    expect(await summarize(user.tenantId)).toEqual(before);
  });

  it('is not closed soon after the last one by another replica', async () => {
    const tenantId = newId();
    await fixture.count(endsOf(newId(), 1));
    await fixture.ingest.take(endsOf(tenantId, 1));
    const close = async (): Promise<number | 'busy' | null> => {
      await fixture.stores.rollups.closeFold({ leastMs: 60_000 });
      return fixture.stores.rollups.addClosedFold();
    };
    expect(await close()).toBeNull();
    await admin.query(`update analytics.folds set closed_at = closed_at - interval '1 minute'`);
    expect(await close()).toBe(1);
    await fixture.ingest.take(endsOf(tenantId, 1));
    // The clock was set back.
    await admin.query(`update analytics.folds set closed_at = closed_at + interval '1 day'`);
    expect(await close()).toBe(1);
  });

  it('is made early when there are many runs', async () => {
    const tenantId = newId();
    await fixture.ingest.take(endsOf(tenantId, 2));
    const job = folding(() => 100_000);
    job.start();
    await eventually(async () => expect(await foldedOf(tenantId)).toBe(2), 20_000);
    await job.stop();
  });

  it('is closed also while another one is added', async () => {
    const tenantId = newId();
    let stored = 100_000;
    const job = folding(() => stored);
    await fixture.ingest.take(endsOf(tenantId, 1));
    const first = await currentFold();
    await admin.query('begin; lock table analytics.usage_totals in share mode');
    job.start();
    await waiting('analytics.usage_totals');
    expect(await currentFold()).toBe(first + 1);
    expect(await fixture.stores.freshness.countWaitingFolds()).toBe(1);
    await fixture.ingest.take(endsOf(tenantId, 1));
    stored += 100_000;
    await eventually(async () => expect(await currentFold()).toBe(first + 2), 20_000);
    expect(await fixture.stores.freshness.countWaitingFolds()).toBe(2);
    await admin.query('commit');
    await eventually(async () => expect(await foldedOf(tenantId)).toBe(2), 20_000);
    expect(await fixture.stores.freshness.countWaitingFolds()).toBe(0);
    await job.stop();
  });

  it('has the last runs of a replica that stops', async () => {
    const tenantId = newId();
    const job = folding(() => 0);
    job.start();
    await fixture.ingest.take(endsOf(tenantId, 2));
    await job.stop();
    expect(await foldedOf(tenantId)).toBe(2);
  });
});

describe('a replica of version 0.3.0', () => {
  it('counts the runs that it stores itself', async () => {
    const end = makeEnd({ api_key_id: null });
    await fixture.count([received(end)]);
    await admin.query('update analytics.traces set fold = null where id = $1', [end.run_id]);
    await foldRuns(fixture.stores.rollups);
    expect([await foldedOf(end.tenant_id), await requestsOf(end.tenant_id)]).toEqual([1, 1]);
    await fixture.ingest.take([correction({ ...end, input_tokens: 70 })]);
    expect((await summarize(end.tenant_id)).totals).toMatchObject({ requests: 1, inputTokens: 70 });
  });

  it('corrects a run once it is in the roll-ups', async () => {
    const end = makeEnd({ ...makeStart(), usage_estimated: true });
    await fixture.ingest.take([received(end)]);
    const correct = () =>
      fixture.writing.query('update analytics.traces set corrected = true where id = $1', [end.run_id]);
    await expect(correct()).rejects.toThrow();
    await foldRuns(fixture.stores.rollups);
    expect((await correct()).rowCount).toBe(1);
  });
});
