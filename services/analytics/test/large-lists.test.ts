import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { traceList, tracePage } from '@gatehouse/contract/traces';
import { costSummary, usageSummary } from '@gatehouse/contract/usage';
import { newId } from '@gatehouse/kit/ids';
import { pageBytes } from '@gatehouse/kit/page';
import { eventually } from '@gatehouse/test/eventually';
import { measures } from '../src/usage/measure-pg-store.ts';
import { AnalyticsHarness } from './analytics-harness.ts';
import { describeStores, postgres, type Engine } from './describe-stores.ts';
import { makeCall, makeEnd } from './event-fixture.ts';
import { noFilter } from './ingest-fixture.ts';

let harness: AnalyticsHarness;
function openWith(engine: Engine): void {
  beforeAll(async () => {
    harness = await AnalyticsHarness.start(undefined, engine);
  });
  afterAll(() => harness.stop());
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

describeStores('large lists', (engine) => {
  openWith(engine);

  describe('following runs with large previews, many calls and many groups', () => {
    const tenantId = newId();
    const long = '漢'.repeat(256);
    const text = '漢'.repeat(10_000);
    const calls = Array.from({ length: 40 }, () =>
      makeCall({ model: long, provider: long, upstream_model: long }),
    );
    const groups = Array.from(
      { length: 100 },
      (_, index) => `${long.slice(3)}${String(index).padStart(3, '0')}`,
    );
    const makeRun = (): ReturnType<typeof makeEnd> =>
      makeEnd({ tenant_id: tenantId, input_preview: text, output_preview: text, spans: calls, groups });
    const ids: string[] = [];
    beforeAll(async () => {
      for (let batch = 0; batch < 4; batch += 1) {
        const runs = Array.from({ length: 25 }, makeRun);
        await harness.ingest(...runs);
        ids.push(...runs.map((run) => run.run_id));
      }
    });

    it.each([true, false])('has pages of 4 MiB at most that show each run once, spans: %s', async (spans) => {
      const seen: string[] = [];
      const later: string[] = [];
      let [cursor, pages] = ['', 0];
      await eventually(async () => {
        for (let more = true; more;) {
          const path = `/v1/traces/follow?limit=200&include_spans=${spans}${cursor}`;
          const page = tracePage.parse(await harness.get(path, { tenantId, role: 'admin' }));
          expect(bytesOf(page)).toBeLessThan(pageBytes + 1_000);
          seen.push(...page.traces.map(({ id }) => id));
          cursor = `&cursor=${page.next_cursor}`;
          more = page.has_more;
          expect(page.poll_after_ms === 0).toBe(more);
          pages += more ? 1 : 0;
          // While it is read, more runs end.
          if (later.length < 2) {
            const run = makeRun();
            later.push(run.run_id);
            await harness.ingest(run);
          }
        }
        expect(seen).toEqual(expect.arrayContaining([...ids, ...later]));
      });
      expect(seen).toHaveLength(ids.length + later.length);
      // The runs of this round are there before the next.
      ids.push(...later);
      expect(pages).toBeGreaterThan(0);
    });

    it.each(['started_at', 'cost'])('has pages of 4 MiB at most as a list by %s', async (sort) => {
      const seen: string[] = [];
      let pages = 0;
      for (let cursor: string | null = ''; cursor !== null; pages += 1) {
        const next = cursor === '' ? '' : `&cursor=${cursor}`;
        const path = `/v1/traces?limit=200&sort=${sort}${next}`;
        const page = traceList.parse(await harness.get(path, { tenantId, role: 'admin' }));
        expect(bytesOf(page)).toBeLessThan(pageBytes + 1_000);
        seen.push(...page.data.map(({ id }) => id));
        cursor = page.next_cursor;
      }
      expect(pages).toBeGreaterThan(1);
      expect(seen.toSorted()).toEqual(ids.toSorted());
    });

    it('reads no more than a page from the database', async () => {
      const { traces } = harness.stores;
      const none = { agentId: null, sessionId: null, user: null, status: null, channel: null, traceId: null };
      const since = new Date(Date.now() - 3_600_000);
      const read = await traces.changes(tenantId, () => since, { ...none, limit: 200, spans: true });
      expect(read.hasMore).toBe(true);
      expect(bytesOf(read.rows)).toBeLessThan(pageBytes + 2 * bytesOf(makeRun()));
    });
  });
});

describe('summaries of rows that a test makes', () => {
  openWith(postgres);

  describe('a summary by names that are long', () => {
    it('ends its groups at 4 MiB and says so', async () => {
      const tenantId = newId();
      await harness.rows(
        `insert into analytics.usage (tenant_id, bucket, model, provider, channel, user_id, api_key_id, requests, errors,
         cancelled, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, tool_calls, timed_requests,
         duration_ms, cost_pico, unpriced_requests, estimated_requests, estimated_cost_pico)
       select $1, date_bin('15 minutes', now() - interval '2 hours', 'epoch'), repeat('漢', 256), 's', 'api',
         rpad(n::text, 255, 'u'), $1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0
       from generate_series(10001, 20000) as n`,
        [tenantId],
      );
      await harness.rows(
        `insert into analytics.usage_totals (tenant_id, bucket, model, provider, channel, ${measures.join(', ')})
       select tenant_id, bucket, model, provider, channel, ${measures.map((measure) => `sum(${measure})`).join(', ')}
       from analytics.usage where tenant_id = $1 group by tenant_id, bucket, model, provider, channel`,
        [tenantId],
      );
      const period = `from=${new Date(Date.now() - 86_400_000).toISOString()}`;
      const query = `${period}&group_by=model,user`;
      const principal = { tenantId, role: 'admin' as const };
      for (const [path, shape] of [
        ['usage', usageSummary],
        ['costs', costSummary],
      ] as const) {
        const summary = shape.parse(await harness.get(`/v1/${path}/summary?${query}`, principal));
        expect(summary.truncated).toBe(true);
        expect(bytesOf(summary.groups)).toBeLessThan(pageBytes + 1_000);
        expect(bytesOf(summary.groups)).toBeGreaterThan(pageBytes - 10_000);
      }
      const read = await harness.stores.usage.summarize(tenantId, {
        period: { from: new Date(Date.now() - 86_400_000), to: new Date() },
        filter: noFilter,
        groupBy: ['model', 'user'],
        timezone: 'UTC',
      });
      expect(read.totals.requests).toBe(10_000);
      expect(read.groups.length).toBeLessThan(4_500);
    });
  });
});
