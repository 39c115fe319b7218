import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import type { RunEnded } from '@gatehouse/events/run-event';
import { eventually } from '@gatehouse/test/eventually';
import { costSummary, usageSummary } from '@gatehouse/contract/usage';
import type { Principal } from '@gatehouse/identity/principal';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { AnalyticsHarness } from './analytics-harness.ts';
import { describeStores, postgres, type Engine } from './describe-stores.ts';
import { correction, makeEnd } from './event-fixture.ts';

let analytics: AnalyticsHarness;
function openWith(engine: Engine): void {
  beforeAll(async () => {
    const overrides = { forgetSettleMs: 0, retentionTimes: { firstMs: 86_400_000 } };
    analytics = await AnalyticsHarness.start(overrides, engine);
  });
  afterAll(() => analytics.stop());
}

/** Requests and costs by group and user, and those of all runs with groups, as the roll-up has them. */
async function rolledUp(tenantId: string): Promise<{ groups: Record<string, string>; all: string }> {
  const rows = await analytics.rows<{ key: string; sums: string }>(
    `select name || ' ' || coalesce(user_id, '-') as key, sum(requests) || ' ' || sum(cost_pico) as sums
     from analytics.grouped_usage join analytics.usage_groups using (tenant_id, groups_sha256)
     where tenant_id = $1 group by 1`,
    [tenantId],
  );
  const [all] = await analytics.rows<{ sums: string }>(
    `select coalesce(sum(requests), 0) || ' ' || coalesce(sum(cost_pico), 0) as sums
     from analytics.grouped_usage where tenant_id = $1`,
    [tenantId],
  );
  return { groups: Object.fromEntries(rows.map(({ key, sums }) => [key, sums])), all: all?.sums ?? '' };
}

/** The same, added up run by run. */
function addedUp(runs: readonly RunEnded[]): { groups: Record<string, string>; all: string } {
  const grouped = runs.filter(({ groups }) => groups !== undefined && groups.length > 0);
  const sums = (some: readonly RunEnded[]): string =>
    `${some.length} ${some.reduce((sum, { cost_pico: cost }) => sum + BigInt(cost ?? 0), 0n)}`;
  const rows = grouped.flatMap((run) => (run.groups ?? []).map((name) => ({ name, run })));
  const byKey = Map.groupBy(rows, ({ name, run }) => `${name} ${run.user_id ?? '-'}`);
  const groups = [...byKey].map(([key, some]) => [key, sums(some.map(({ run }) => run))] as const);
  return { groups: Object.fromEntries(groups), all: sums(grouped) };
}

async function exportedRows(query: string, tenantId: string): Promise<Record<string, string>[]> {
  const { body } = await analytics.call('GET', `/v1/costs/export?${query}`, { as: { tenantId } });
  return parse(String(body), { columns: true });
}

describeStores('usage of groups', (engine) => {
  openWith(engine);

  it('summaries and exports take groups as a filter, in any case, and as a dimension', async () => {
    const tenantId = newId();
    const as = { tenantId };
    // An export ends with the last full second.
    const at = new Date(Date.now() - 60_000).toISOString();
    const fields = { tenant_id: tenantId, started_at: at, ended_at: at };
    await analytics.ingest(
      makeEnd({ ...fields, user_id: 'ada', groups: ['Berlin', 'Ops'], cost_pico: '1' }),
      makeEnd({ ...fields, user_id: 'bob', groups: ['Ops'], cost_pico: '10' }),
      makeEnd({ ...fields, user_id: 'eve', cost_pico: '100' }),
    );
    const usage = usageSummary.parse(await analytics.get('/v1/usage/summary?group_by=group', as));
    expect(usage.totals).toMatchObject({ requests: 3, unique_users: 3 });
    expect(usage.groups.map(({ key, requests, unique_users: users }) => [key, requests, users])).toEqual([
      [{ group: 'Berlin' }, 1, 1],
      [{ group: 'Ops' }, 2, 2],
      [{ group: null }, 1, 1],
    ]);
    const costs = async (query: string, principal: Partial<Principal> = as) =>
      costSummary.parse(await analytics.get(`/v1/costs/summary?${query}`, principal));
    const ops = await costs('group=oPS&group_by=user');
    expect([ops.total_usd, ops.groups.map(({ key }) => key.user)]).toEqual([
      '0.000000000011',
      ['ada', 'bob'],
    ]);
    expect((await costs('group=nothing')).total_usd).toBe('0.000000000000');
    const own = await costs('group_by=group', { tenantId, role: 'user', userId: 'bob' });
    expect(own.groups.map(({ key, total_usd: total }) => [key.group, total])).toEqual([
      ['Ops', '0.000000000010'],
    ]);
    const csv = await exportedRows('group_by=group,model', tenantId);
    expect(csv.map(({ group, total_usd: total }) => [group, total])).toEqual([
      ['Berlin', '0.000000000001'],
      ['Ops', '0.000000000011'],
      ['', '0.000000000100'],
    ]);
    const focus = await exportedRows('group=berlin&format=focus', tenantId);
    expect(focus.map(({ x_UserId: user, BilledCost: cost }) => [user, cost])).toEqual([
      ['ada', '0.000000000001'],
    ]);
  });
});

describe('roll-ups of groups', () => {
  openWith(postgres);

  it('a run counts in each of its groups, once in all, and anew when it is corrected', async () => {
    const anyRun = fc.record({
      user_id: fc.option(fc.constantFrom('ada', 'bob')),
      groups: fc.option(fc.subarray(['Berlin', 'Engineering', 'Ops']), { nil: undefined }),
      cost_pico: fc.nat(1_000).map(String),
      isEstimated: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(anyRun, { minLength: 1, maxLength: 20 }), async (runs) => {
        const tenantId = newId();
        const ends = runs.map(({ isEstimated, groups, ...fields }) => ({
          isEstimated,
          run: makeEnd({ tenant_id: tenantId, ...fields, ...(groups !== undefined && { groups }) }),
        }));
        const stored = ends.map(({ run, isEstimated }) =>
          isEstimated ? { ...run, cost_pico: '7', usage_estimated: true } : run,
        );
        await analytics.ingest(...stored);
        expect(await rolledUp(tenantId)).toEqual(addedUp(stored));
        const exact = ends.filter(({ isEstimated }) => isEstimated).map(({ run }) => run);
        await analytics.ingest(...exact.map((run) => correction(run).payload.toString()));
        expect(await rolledUp(tenantId)).toEqual(addedUp(ends.map(({ run }) => run)));
      }),
      { numRuns: 15 },
    );
  });

  it('the rows of a deleted user become those of the pseudonym', async () => {
    const tenantId = newId();
    const groups = ['Berlin', 'Ops'];
    await analytics.ingest(
      makeEnd({ tenant_id: tenantId, user_id: 'ada', session_id: 's', groups }),
      makeEnd({ tenant_id: tenantId, user_id: 'bob', groups }),
    );
    // As a replica of 0.3.0 completes a deletion.
    await expect(
      analytics
        .pool('analytics_system')
        .query(`update analytics.users set user_id = 'gone' where tenant_id = $1`, [tenantId]),
    ).rejects.toThrow('the user has rows of groups');
    const tenant = await analytics.peer('tenant');
    const request = { tenantId, userId: 'ada', deletionId: newId(), requestedAtMs: BigInt(Date.now()) };
    await eventually(async () => {
      const { completed } = await tenant.call('forgetUser', request, { deadlineMs: 10_000 });
      expect(completed).toBe(true);
    });
    const rows = await analytics.rows<{ user_id: string; session_id: string | null; requests: number }>(
      'select user_id, session_id, requests::integer from analytics.grouped_usage where tenant_id = $1',
      [tenantId],
    );
    const users = rows.map(({ user_id: user }) => user);
    expect(users).toHaveLength(2);
    expect(users).toContain('bob');
    expect(users).not.toContain('ada');
    expect(rows.map(({ session_id: session, requests }) => [session, requests])).toEqual([
      [null, 1],
      [null, 1],
    ]);
  });
});
