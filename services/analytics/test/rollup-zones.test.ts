import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createRegistry } from '@gatehouse/kit/metrics';
import { DailyRollupJob } from '../src/daily-rollups/daily-rollup-job.ts';
import { addUp } from '../src/daily-rollups/daily-rollup-pg-store.ts';
import { noFilter } from './ingest-fixture.ts';
import {
  eventsOf,
  firstDay,
  hourMs,
  log,
  makeRuns,
  SettlingGround,
  wholeDays,
  zones,
} from './daily-rollup-fixture.ts';

let ground: SettlingGround;
beforeAll(async () => {
  ground = await SettlingGround.start();
});
afterAll(() => ground.stop());

describe('a day of the time zone of the tenant', () => {
  /** The kind of rows that serve groups by day and agent; null if none does. */
  const kindIn = async (tenantId: string, timezone: string) => {
    const request = { period: wholeDays, filter: noFilter, groupBy: ['day', 'agent'], timezone } as const;
    const { kind, others } = await ground.partsOf(tenantId, request);
    return kind === null
      ? null
      : { kind, hours: others.map(({ from, to }) => (Number(to) - Number(from)) / hourMs) };
  };
  /** The day before the first run, which is not settled. */
  const served = { kind: 'agent', hours: [24] };

  it.each(['Europe/Berlin', 'Asia/Kathmandu', 'America/St_Johns'])(
    'in %s is served by sums of days, and one in UTC too',
    async (zone) => {
      const tenantId = newId();
      zones.set(tenantId, zone);
      await ground.fixture.count(eventsOf(makeRuns(tenantId, 100)));
      await ground.makeSettling().settle();
      expect(await kindIn(tenantId, zone)).toEqual(served);
      expect(await kindIn(tenantId, 'UTC')).toEqual(served);
      expect((await kindIn(tenantId, 'Asia/Tokyo'))?.hours.length ?? 0).not.toBe(1);
    },
  );

  it('is served after a change of the zone, once the days are added up again', async () => {
    const tenantId = newId();
    await ground.fixture.count(eventsOf(makeRuns(tenantId, 100)));
    await ground.makeSettling().settle();
    zones.set(tenantId, 'Asia/Tokyo');
    expect(await kindIn(tenantId, 'Asia/Tokyo')).toBeNull();
    await ground.makeSettling().settle();
    expect(await kindIn(tenantId, 'Asia/Tokyo')).toEqual(served);
    await ground.expectEqualFigures(tenantId);
  });

  it('is read after a start of tenants with sums of days alone', async () => {
    const [few, many] = [newId(), newId()];
    await ground.fixture.count([...eventsOf(makeRuns(few, 4)), ...eventsOf(makeRuns(many, 100))]);
    await ground.makeSettling(40, 10).settle();
    expect(new Set(await ground.statesOf(few))).toEqual(new Set(['small']));
    const read: string[] = [];
    const zoneOf = (tenantId: string): Promise<string> =>
      Promise.resolve(read.push(tenantId) > 0 ? 'UTC' : '');
    const options = { store: ground.fixture.stores.dailyRollups, log, registry: createRegistry('test') };
    await new DailyRollupJob({ ...options, zones: { zoneOf } }).settle();
    expect([read.includes(few), read.includes(many)]).toEqual([false, true]);
  });

  it('is not added up while the zone is not known', async () => {
    const tenantId = newId();
    zones.set(tenantId, null);
    await ground.fixture.count(eventsOf(makeRuns(tenantId, 100)));
    const settling = ground.makeSettling();
    await settling.settle();
    expect(await ground.statesOf(tenantId)).toEqual(Array.from({ length: 4 }, () => 'changed'));
    zones.set(tenantId, 'Asia/Tokyo');
    await settling.settle();
    expect(await kindIn(tenantId, 'Asia/Tokyo')).toEqual(served);
  });

  it.each(['first', 'last'])('does not count if the release before added up the %s part', async (which) => {
    const tenantId = newId();
    zones.set(tenantId, 'Asia/Tokyo');
    await ground.fixture.count(eventsOf(makeRuns(tenantId, 200)));
    await ground.makeSettling().settle();
    expect(await kindIn(tenantId, 'Asia/Tokyo')).toEqual(served);
    const day = new Date(firstDay);
    const at = (hours: number) => new Date(firstDay + hours * hourMs);
    const ofDay = 'where tenant_id = $1 and day = $2';
    await ground.admin.query(
      `update analytics.settled_days set state = 'changed', hours = 0, cut_hours = 0 ${ofDay}`,
      [tenantId, day],
    );
    const part = (most: number) =>
      ground.fixture.stores.dailyRollups.settlePart(
        { tenantId, day },
        { least: 1, most, timezone: 'Asia/Tokyo' },
      );
    const deleteRows = (condition: string) =>
      ground.admin.query(
        `delete from analytics.settled_usage where tenant_id = $1 and bucket >= $2 and bucket < $3 and ${condition}`,
        [tenantId, day, at(24)],
      );
    /** Rows don't end at the cut, and there are none by session or group; the columns of all stay as they are. */
    const partOfBefore = async (hours: number, until: number) => {
      await ground.admin.query(addUp, [tenantId, at(hours), at(until), at(until)]);
      await deleteRows(`kind in ('session', 'group') and bucket = '${at(hours).toISOString()}'`);
      await ground.admin.query(
        `update analytics.settled_days set hours = $3, state = case when $3::smallint = 24 then 'settled' else 'open' end ${ofDay}`,
        [tenantId, day, until],
      );
    };
    expect(await part(1_000)).toBe('open');
    if (which === 'first') await partOfBefore(0, 5);
    expect(await part(which === 'first' ? 1_000 : 20)).toBe(which === 'first' ? 'settled' : 'open');
    if (which === 'last') {
      const { rows } = await ground.admin.query<{ hours: number }>(
        `select hours from analytics.settled_days ${ofDay}`,
        [tenantId, day],
      );
      await partOfBefore(rows[0]?.hours ?? 0, 24);
    }
    expect(await ground.statesOf(tenantId)).toEqual(Array.from({ length: 4 }, () => 'settled'));
    expect(await ground.wrongDays()).toEqual([]);
    expect(await kindIn(tenantId, 'Asia/Tokyo')).toEqual({ kind: 'agent', hours: [48] });
    await ground.expectEqualFigures(tenantId);
    // It clears the day, and this release adds it up.
    await deleteRows(`kind not in ('session', 'group')`);
    await ground.admin.query(
      `update analytics.settled_days set state = 'open', hours = 0, cut_hours = 0 ${ofDay}`,
      [tenantId, day],
    );
    await ground.makeSettling().settle();
    expect(await kindIn(tenantId, 'Asia/Tokyo')).toEqual(served);
    expect(await ground.wrongDays()).toEqual([]);
    await ground.expectEqualFigures(tenantId);
  });
});
