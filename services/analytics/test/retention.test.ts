import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { trace } from '@gatehouse/contract/traces';
import { costSummary } from '@gatehouse/contract/usage';
import { writeWatermark } from '@gatehouse/events/watermark';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { valueOf } from '@gatehouse/test/exposition';
import { AnalyticsHarness, endOf, idAt, startOf } from './analytics-harness.ts';
import type { Retention } from '../src/retention/retention-job.ts';

let analytics: AnalyticsHarness;
let retention: Retention;
let tenantId: string;

beforeAll(async () => {
  analytics = await AnalyticsHarness.start();
  retention = await analytics.retention();
});
afterAll(() => analytics.stop());
beforeEach(() => {
  tenantId = newId();
  analytics.tenantServiceIsAway = false;
});

/** The tenant's traces that still have texts. */
async function texts(): Promise<unknown[]> {
  const rows = await analytics.rows(
    `select num_nonnulls(input_preview, output_preview, error_message)::integer as texts from analytics.traces
     where tenant_id = $1 order by id`,
    [tenantId],
  );
  return rows.map((row) => row['texts']);
}

async function usage(): Promise<Record<string, unknown>[]> {
  return analytics.rows('select * from analytics.usage where tenant_id = $1 order by bucket', [tenantId]);
}

async function deadLetters(): Promise<{ reason: string; payload: string }[]> {
  const rows = await analytics.rows(
    `select reason, convert_from(payload, 'UTF8') as payload from analytics.dead_letters
     where convert_from(payload, 'UTF8') like $1`,
    [`%${tenantId}%`],
  );
  return rows.map((row) => ({ reason: String(row['reason']), payload: String(row['payload']) }));
}

describe('a sweep', () => {
  it('deletes traces older than their tenant keeps them, and no others', async () => {
    const other = newId();
    analytics.retentionDays.set(tenantId, 60);
    analytics.retentionDays.set(other, 365);
    const ids = await analytics.makeOldRuns(tenantId, 300, 61, 59, 1);
    const kept = await analytics.makeOldRuns(other, 300, 61);
    expect(await retention.sweep()).toBe(true);
    expect(await analytics.traceIds(tenantId)).toEqual(ids.slice(2));
    expect(await analytics.traceIds(other)).toEqual(kept);
    expect(await texts()).toEqual([3, 3]);
  });

  it('reaches all tenants, however many', async () => {
    const tenants = Array.from({ length: 101 }, newId);
    for (const id of tenants) await analytics.makeOldRuns(id, 1.1);
    expect(await retention.sweep()).toBe(true);
    expect(analytics.settingsRead).toEqual(expect.arrayContaining(tenants));
  });

  it('reads no settings of a tenant whose traces are younger than any retention', async () => {
    const other = newId();
    analytics.retentionDays.set(other, 60);
    await analytics.makeOldRuns(tenantId, 0.9);
    await analytics.makeOldRuns(other, 1.1);
    await retention.sweep();
    expect(analytics.settingsRead).not.toContain(tenantId);
    expect(analytics.settingsRead).toContain(other);
  });

  it('deletes a run that never ended, too', async () => {
    analytics.retentionDays.set(tenantId, 60);
    const [id] = await analytics.makeOldRuns(tenantId, 61);
    await analytics.rows(`update analytics.traces set status = 'running', ended_at = null where id = $1`, [
      id,
    ]);
    await retention.sweep();
    expect(await analytics.traceIds(tenantId)).toEqual([]);
  });

  it('keeps a row for 30 days and takes its texts out before, where a tenant keeps its traces for less', async () => {
    analytics.retentionDays.set(tenantId, 7);
    const ids = await analytics.makeOldRuns(tenantId, 31, 29, 8, 6);
    const changes = () =>
      analytics.rows(
        `select id, change_transaction, change_number, changed_at from analytics.traces
         where tenant_id = $1 and id >= $2 order by id`,
        [tenantId, ids[1]],
      );
    const before = await changes();
    await retention.sweep();
    expect(await analytics.traceIds(tenantId)).toEqual(ids.slice(1));
    expect(await texts()).toEqual([0, 0, 3]);
    const blanked = trace.parse(await analytics.get(`/v1/traces/${ids[2] ?? ''}`, { tenantId }));
    expect(blanked).toMatchObject({
      status: 'error',
      input_tokens: 10,
      input_preview: null,
      output_preview: null,
      error: { type: 'upstream_error', message: '' },
    });
    // Followers receive no change for traces that only lost texts.
    expect(await changes()).toEqual(before);
  });

  it('keeps the traces of a deleted tenant for 90 days', async () => {
    const ids = await analytics.makeOldRuns(tenantId, 91, 89);
    await retention.sweep();
    expect(await analytics.traceIds(tenantId)).toEqual(ids.slice(1));
    expect(await texts()).toEqual([3]);
  });

  it('leaves the sums of deleted traces as they were', async () => {
    analytics.retentionDays.set(tenantId, 7);
    await analytics.makeOldRuns(tenantId, 300, 40, 20, 1);
    const summary = async () => {
      const day = (ago: number) =>
        new Date(Math.floor(Date.now() / 86_400_000 - ago) * 86_400_000).toISOString();
      const path = `/v1/costs/summary?from=${day(350)}&to=${day(-1)}&group_by=day`;
      return costSummary.parse(await analytics.get(path, { tenantId }));
    };
    const [rows, before] = [await usage(), await summary()];
    expect(before).toMatchObject({ total_usd: '0.000004000000' });
    await retention.sweep();
    expect(await analytics.traceIds(tenantId)).toHaveLength(2);
    expect(await usage()).toEqual(rows);
    expect(await summary()).toEqual(before);
  });

  it('goes on batch after batch until all is done', async () => {
    analytics.retentionDays.set(tenantId, 7);
    const ids = await analytics.makeOldRuns(tenantId, 50, 45, 40, 35, 32, 29, 28, 20, 10, 9, 1);
    expect(await (await analytics.retention(2)).sweep()).toBe(true);
    expect(await analytics.traceIds(tenantId)).toEqual(ids.slice(5));
    expect(await texts()).toEqual([0, 0, 0, 0, 0, 3]);
  });

  it('may be made by several replicas at once, while events come in', async () => {
    analytics.retentionDays.set(tenantId, 60);
    const old = Array.from({ length: 40 }, (_, index) => 61 + index);
    await analytics.makeOldRuns(tenantId, ...old);
    const replicas = await Promise.all([1, 2, 3].map(() => analytics.retention(3)));
    const starts = Array.from({ length: 20 }, () => startOf({ tenant_id: tenantId }));
    const [complete] = await Promise.all([
      Promise.all(replicas.map((replica) => replica.sweep())),
      ...starts.map((start) => analytics.ingest(start, endOf(start))),
    ]);
    expect(complete).toEqual([true, true, true]);
    // A batch that was another's turn ends a replica's round, so what is left is the next one's.
    await retention.sweep();
    expect(await analytics.traceIds(tenantId)).toHaveLength(20);
    const requests = (await usage()).map((row) => Number(row['requests']));
    expect(requests.reduce((sum, each) => sum + each, 0)).toBe(60);
  });

  it('is postponed while the tenant service is away, or does not say', async () => {
    const ids = await analytics.makeOldRuns(tenantId, 3_000);
    // A release that does not know the field sends this.
    analytics.retentionDays.set(tenantId, 0);
    expect(await retention.sweep()).toBe(false);
    analytics.retentionDays.set(tenantId, 60);
    analytics.tenantServiceIsAway = true;
    expect(await retention.sweep()).toBe(false);
    expect(await analytics.traceIds(tenantId)).toEqual(ids);
    analytics.tenantServiceIsAway = false;
    expect(await retention.sweep()).toBe(true);
    expect(await analytics.traceIds(tenantId)).toEqual([]);
  });

  const refuse = (tenant: string, ages: readonly number[]) =>
    analytics.rows(
      `insert into analytics.refused_requests
         (id, tenant_id, refused_at, code, message, operation, channel, request_id, trace_id, request_model)
       select gen_random_uuid(), $1, now() - make_interval(days => age), 'c', '', 'chat', 'api', 'r', 't', ''
       from unnest($2::integer[]) age`,
      [tenant, ages],
    );
  const refusedAges = async (tenants: readonly string[]): Promise<unknown[]> => {
    const left = await analytics.rows(
      `select extract(days from now() - refused_at)::integer as age from analytics.refused_requests
       where tenant_id = any($1)`,
      [tenants],
    );
    return left.map(({ age }) => age);
  };

  it('deletes what is older than the longest retention while the tenant service is away', async () => {
    const tenants = [tenantId, newId()];
    for (const id of tenants) await refuse(id, [3_651, 3_600]);
    analytics.tenantServiceIsAway = true;
    expect(await retention.sweep()).toBe(false);
    expect(await refusedAges(tenants)).toEqual([3_600, 3_600]);
  });

  it('deletes it also of tenants that were swept before the tenant service went away', async () => {
    const [swept = '', asked = ''] = [tenantId, newId()].toSorted();
    for (const id of [swept, asked]) await refuse(id, [3_600]);
    analytics.retentionDays.set(swept, 3_650);
    // As during an outage.
    analytics.retentionDays.set(asked, 0);
    expect(await retention.sweep()).toBe(false);
    await refuse(swept, [3_651]);
    expect(await retention.sweep()).toBe(false);
    expect(await refusedAges([swept])).toEqual([3_600]);
    analytics.retentionDays.set(asked, 3_650);
    expect(await retention.sweep()).toBe(true);
  });

  it('skips a tenant whose retention cannot be read, and continues with the others', async () => {
    const [skipped, next] = [tenantId, newId()];
    analytics.refusals.set(skipped, new AppError('internal', 'The answer is too large.'));
    analytics.retentionDays.set(skipped, 60);
    analytics.retentionDays.set(next, 60);
    const ids = await analytics.makeOldRuns(skipped, 61);
    await analytics.makeOldRuns(next, 61);
    expect(await retention.sweep()).toBe(false);
    expect(await analytics.traceIds(skipped)).toEqual(ids);
    expect(await analytics.traceIds(next)).toEqual([]);
    analytics.refusals.clear();
    expect(await retention.sweep()).toBe(true);
    expect(await analytics.traceIds(skipped)).toEqual([]);
  });

  it('drops partitions that are older than any retention, whatever is in them', async () => {
    const names = async () =>
      (
        await analytics.rows(
          `select relid::text as name from pg_partition_tree('analytics.traces') where isleaf order by name`,
        )
      ).map((row) => String(row['name']));
    await analytics.makePartitions(3_650 + 130);
    const before = await names();
    await retention.sweep();
    const after = await names();
    expect(before.slice(-after.length)).toEqual(after);
    // A month, and what is left of another: 31 days after the longest retention, their newest row is as old.
    expect(before.length - after.length).toBeGreaterThanOrEqual(2);
    const oldest = /(\d{4})_(\d{2})$/.exec(after[0] ?? '');
    const end = Date.UTC(Number(oldest?.[1]), Number(oldest?.[2]), 1);
    expect(Date.now() - end).toBeLessThanOrEqual((3_650 + 31) * 86_400_000);
  });

  it('deletes dead letters after 30 days', async () => {
    await analytics.ingest(`${tenantId} is no event`, `${tenantId} is none either`);
    expect(await deadLetters()).toHaveLength(2);
    await analytics.rows(
      `update analytics.dead_letters set received_at = now() - interval '31 days'
       where convert_from(payload, 'UTF8') like $1`,
      [`${tenantId} is no event`],
    );
    await retention.sweep();
    expect((await deadLetters()).map(({ payload }) => payload)).toEqual([`${tenantId} is none either`]);
  });
});

describe('an event about a run older than 30 days', () => {
  it('brings no run back and counts none twice once its trace is deleted', async () => {
    analytics.retentionDays.set(tenantId, 1);
    const start = startOf({ tenant_id: tenantId });
    await analytics.ingest(start, endOf(start));
    const old = { ...start, run_id: idAt(31) };
    await analytics.makePartitions(31);
    await analytics.rows('update analytics.traces set id = $2 where id = $1', [start.run_id, old.run_id]);
    const counted = await usage();
    // While the trace is there, it is what makes a repeated event harmless.
    await analytics.ingest(old, endOf(old));
    expect(await deadLetters()).toEqual([]);
    await retention.sweep();
    const young = startOf({ tenant_id: tenantId });
    await analytics.ingest(old, young, endOf(old));
    expect(await analytics.traceIds(tenantId)).toEqual([young.run_id]);
    expect(await usage()).toEqual(counted);
    const letters = await deadLetters();
    expect(letters.map(({ reason }) => reason)).toEqual(['too late: the run is older than 30 days']);
    for (const { payload } of letters) expect(payload).not.toMatch(/the (question|answer|complaint)/);
  });

  it('ends a run that is still there, once and without its texts', async () => {
    analytics.retentionDays.set(tenantId, 365);
    const [id = ''] = await analytics.makeOldRuns(tenantId, 40);
    await analytics.rows(
      `update analytics.traces set status = 'running', ended_at = null, output_preview = null, error_message = null
       where id = $1`,
      [id],
    );
    const end = endOf(startOf({ tenant_id: tenantId, run_id: id }, 40));
    const before = (await usage()).length;
    await analytics.ingest(end);
    await analytics.ingest(end);
    const rows = await usage();
    expect(rows.reduce((sum, row) => sum + Number(row['requests']), 0)).toBe(before + 1);
    expect(
      await analytics.rows('select status, output_preview from analytics.traces where id = $1', [id]),
    ).toEqual([{ status: 'error', output_preview: null }]);
    expect(await deadLetters()).toEqual([]);
  });

  it('does not keep a watermark from being stored', async () => {
    const watermark = '2026-01-01T00:00:00.000Z';
    const mark = writeWatermark(tenantId, { partition: 0, partitions: 1, watermark });
    const start = startOf({ tenant_id: tenantId, run_id: idAt(50) });
    await analytics.ingest(start, mark);
    expect(
      await analytics.rows('select watermark from analytics.watermarks where source = $1', [tenantId]),
    ).toEqual([{ watermark: new Date(watermark) }]);
    expect(await deadLetters()).toHaveLength(1);
  });
});

it('a run whose event arrives after its tenant’s retention is counted, and loses its texts at the next sweep', async () => {
  analytics.retentionDays.set(tenantId, 1);
  await analytics.makePartitions(20);
  const start = startOf({ tenant_id: tenantId }, 20);
  await analytics.ingest(start, endOf(start));
  await retention.sweep();
  await analytics.ingest(start, endOf(start));
  expect(await texts()).toEqual([0]);
  expect((await usage()).map((row) => row['requests'])).toEqual(['1']);
});

it('the service deletes old traces by itself soon after its start', async () => {
  const own = await AnalyticsHarness.start({ retentionTimes: { firstMs: 500, retryMs: 100 } });
  own.tenantServiceIsAway = true;
  await own.makeOldRuns(tenantId, 100);
  own.retentionDays.set(tenantId, 30);
  own.tenantServiceIsAway = false;
  await eventually(async () => {
    expect(await own.traceIds(tenantId)).toEqual([]);
  });
  await eventually(async () => {
    const doneAt = valueOf(await own.metrics(), 'gatehouse_retention_success_timestamp_seconds');
    expect(doneAt).toBeCloseTo(Date.now() / 1_000, -3);
  });
  await own.stop();
});
