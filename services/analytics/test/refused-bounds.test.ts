import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { RefusedDays } from '../src/daily-rollups/refused-days-job.ts';
import { forget } from '../src/forgetting/forget-user-job.ts';
import type { ListPosition } from '../src/traces/list-cursor.ts';
import { RefusedListPgStore } from '../src/traces/refused-list-pg-store.ts';
import { AnalyticsHarness } from './analytics-harness.ts';
import { detail, entryOf, eventOf, refusedReads } from './refused-fixture.ts';

const dayMs = 86_400_000;

let harness: AnalyticsHarness;
beforeAll(async () => {
  harness = await AnalyticsHarness.start();
});
afterAll(() => harness.stop());

const { usageOf, refusedBy, keptOf } = refusedReads(() => harness);

it('completes the deletion of a user with many refused requests', async () => {
  const tenantId = newId();
  await harness.rows(
    `insert into analytics.refused_usage (tenant_id, bucket, code, model, channel, user_id, refused)
     select $1, date_bin('15 minutes', now(), 'epoch'), 'rate_limit_exceeded', n::text, 'api', 'ada', 1
     from generate_series(1, 30000) as n`,
    [tenantId],
  );
  await harness.rows(
    `insert into analytics.refused_requests (id, tenant_id, refused_at, code, message, operation, channel, request_id,
       trace_id, user_id, request_model)
     select gen_random_uuid(), $1, now(), 'c', '', 'chat', 'api', '', '', 'ada', '' from generate_series(1, 5000)`,
    [tenantId],
  );
  const store = harness.stores.deletions;
  const deletion = { id: newId(), tenantId, userId: 'ada', requestedAt: new Date() };
  let rounds = 0;
  while (!(await forget(deletion, { store, settleMs: 0 })).completed) {
    rounds += 1;
    expect(rounds).toBeLessThan(30);
  }
  expect(await refusedBy(tenantId, 'user')).toEqual([[null, 0, 30_000]]);
  expect(await keptOf(tenantId)).toBe(0);
});

it('adds counts up by day after two days, exactly for days of UTC and of the time zone', async () => {
  const tenantId = newId();
  await harness.rows(
    `insert into analytics.refused_usage (tenant_id, bucket, code, model, channel, dialect, client, user_id, refused)
     select $1, date_bin('15 minutes', now() - n * interval '1 hour', 'epoch'), 'rate_limit_exceeded', 'small', 'api',
            'chat', 'curl', 'user-' || n, 1 from generate_series(0, 239) as n`,
    [tenantId],
  );
  const from = new Date(Date.now() - 20 * dayMs).toISOString();
  const zones = ['UTC', 'Asia/Kolkata'];
  const days = () =>
    Promise.all(
      zones.map(async (zone) =>
        (await usageOf(tenantId, `from=${from}&group_by=day&timezone=${zone}`)).groups.map(
          ({ key, refused }) => [key.day, refused],
        ),
      ),
    );
  const before = await days();
  const zoneOf = () => Promise.resolve('Asia/Kolkata');
  const job = new RefusedDays({
    ...{ store: harness.stores.refusedDays, zones: { zoneOf } },
    log: createLogger('test', 'silent'),
  });
  expect([await job.addUp(), await job.addUp()]).toEqual([true, true]);
  expect(await days()).toEqual(before);
  const rows = await harness.rows(
    `select count(*) filter (where is_day)::integer as days, count(*) filter (where is_day and user_id is not null)::integer
       as users, count(*) filter (where not is_day and bucket < now() - interval '75 hours')::integer as quarters
     from analytics.refused_usage where tenant_id = $1`,
    [tenantId],
  );
  expect(rows).toMatchObject([{ users: 0, quarters: 0 }]);
  expect(rows[0]?.['days']).toBeLessThan(20);
});

it('a page of refused requests reads a bounded number of them, and its cursor goes on', async () => {
  const tenantId = newId();
  const list = new RefusedListPgStore(harness.pool('analytics_app'), 10);
  await harness.store(
    eventOf(
      Array.from({ length: 25 }, (_, index) =>
        entryOf(tenantId, {
          code: index === 0 ? 'agent_disabled' : 'rate_limit_exceeded',
          details: [detail(new Date(Date.now() - (60 - index) * 1_000))],
        }),
      ),
    ),
  );
  const request = {
    period: { from: new Date(Date.now() - dayMs), to: new Date() },
    sort: 'started_at' as const,
    limit: 5,
    filter: {
      ...{
        search: null,
        model: null,
        provider: null,
        agentId: null,
        apiKeyId: null,
        group: null,
        user: null,
        sessionId: null,
      },
      ...{ channel: null, dialect: null, status: 'refused', errorCode: 'agent_disabled' },
      ...{ minCost: null, minDurationMs: null },
    },
  };
  const pages: number[] = [];
  for (let after: ListPosition | null = null; ;) {
    const { rows, next } = await list.list(tenantId, { ...request, after });
    pages.push(rows.length);
    if (next === null) break;
    after = next;
  }
  expect(pages).toEqual([0, 0, 1]);
});
