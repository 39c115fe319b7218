import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import type { GroupedBy, RunGrouping } from '../src/preview/group-runs-store.ts';
import { AnalyticsHarness } from './analytics-harness.ts';
import { describeStores } from './describe-stores.ts';
import { makeEnd } from './event-fixture.ts';

let analytics: AnalyticsHarness;

const nothing: GroupedBy = {
  ...{ user: false, groups: false, agent: false, apiKey: false, session: false, model: false },
};

const bounds = { maxRuns: 100, maxGroups: 10 };

async function group(
  tenantId: string,
  by: Partial<GroupedBy>,
  fields: Partial<RunGrouping> = {},
  some = bounds,
) {
  const grouping = { days: 7, period: null, timezone: 'UTC', by: { ...nothing, ...by }, ...fields };
  return analytics.stores.groupRuns.groupRuns(tenantId, grouping, some);
}

const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();

const endOf = (tenantId: string, user: string, costPico: string, hours = 0) =>
  makeEnd({
    ...{ tenant_id: tenantId, user_id: user, session_id: `of ${user}`, cost_pico: costPico },
    ...{ started_at: hoursAgo(hours), ended_at: hoursAgo(hours) },
  });

describeStores('runs in groups', (engine) => {
  beforeAll(async () => {
    analytics = await AnalyticsHarness.start(undefined, engine);
  });
  afterAll(() => analytics.stop());

  it('are added up by the named properties alone, the highest costs first', async () => {
    const tenantId = newId();
    await analytics.store(
      endOf(tenantId, 'ada', '5'),
      endOf(tenantId, 'bob', '30'),
      endOf(tenantId, 'ada', '6'),
      endOf(newId(), 'ada', '1000'),
    );
    const { groups, isCut } = await group(tenantId, { user: true });
    expect(isCut).toBe(false);
    expect(groups).toMatchObject([
      { userId: 'bob', sessionId: null, model: null, groups: null, runs: 1, costPico: '30', windowStart: 0 },
      { userId: 'ada', runs: 2, costPico: '11' },
    ]);
    expect((await group(tenantId, {})).groups).toMatchObject([{ userId: null, runs: 3, costPico: '41' }]);
    expect((await group(tenantId, { session: true, model: true })).groups[0]).toMatchObject({
      ...{ sessionId: 'of bob', model: 'small' },
    });
  });

  it('are those of the last days, in windows of the zone', async () => {
    const tenantId = newId();
    await analytics.makePartitions(31);
    await analytics.store(
      endOf(tenantId, 'ada', '1'),
      endOf(tenantId, 'ada', '2', 49),
      endOf(tenantId, 'ada', '4', 24 * 8),
    );
    const zone = { period: 'day', timezone: 'Asia/Kathmandu' };
    const { groups } = await group(tenantId, {}, zone);
    expect(groups.map(({ costPico }) => costPico)).toEqual(['2', '1']);
    // Midnight in Nepal.
    expect(
      groups.every(({ windowStart }) => new Date(windowStart).toISOString().endsWith('T18:15:00.000Z')),
    ).toBe(true);
    expect((await group(tenantId, {}, { ...zone, days: 9 })).groups).toHaveLength(3);
  });

  it('are the newest ones, and say that there are more', async () => {
    const tenantId = newId();
    await analytics.store(...[1, 2, 3].map((hours) => endOf(tenantId, `user-${hours}`, '1', hours)));
    const cut = await group(tenantId, { user: true }, {}, { maxRuns: 2, maxGroups: 10 });
    expect(cut.isCut).toBe(true);
    expect(cut.groups.map(({ userId }) => userId).sort()).toEqual(['user-1', 'user-2']);
    const few = await group(tenantId, { user: true }, {}, { maxRuns: 10, maxGroups: 2 });
    expect(few.groups).toHaveLength(3);
  });
});
