import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import fc from 'fast-check';
import { calendarExpressions, calendarOf, type CalendarRow } from '../src/limits/calendar-store.ts';
import { periods } from '../src/limits/policy-counters.ts';
import { TenantServiceUnderTest } from './tenant-service.ts';

let service: TenantServiceUnderTest;
let pool: Pool;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  pool = createPool({
    url: service.database.url,
    role: 'tenant_system',
    max: 1,
    log: createLogger('test', 'silent'),
  });
});
afterAll(async () => {
  await pool.end();
  await service.stop();
});

async function findCalendar(tenantId: string, at: string) {
  const text = `with ${calendarExpressions('$2::timestamptz')} select * from calendar`;
  return calendarOf(await pool.all<CalendarRow>(text, [tenantId, at]));
}

describe('the windows of a time zone', () => {
  const parts = (zone: string, at: number) => {
    const format = new Intl.DateTimeFormat('en-CA', {
      ...{ timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit', weekday: 'short' },
    });
    const named = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
    const [year, month, date] = ['year', 'month', 'day'].map((name) => Number(named.get(name as 'year')));
    return { year, month, date, weekday: named.get('weekday') };
  };
  const firstDays = {
    day: () => true,
    week: ({ weekday }: ReturnType<typeof parts>) => weekday === 'Mon',
    month: ({ date }: ReturnType<typeof parts>) => date === 1,
    quarter: ({ date, month }: ReturnType<typeof parts>) => date === 1 && (month ?? 0) % 3 === 1,
    year: ({ date, month }: ReturnType<typeof parts>) => date === 1 && month === 1,
  };

  it('follow one another on the days that they begin with, through summer time', async () => {
    const zones = [
      'UTC',
      'Europe/Berlin',
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
      'Africa/Cairo',
    ];
    const tenants = new Map<string, string>();
    for (const timezone of zones) tenants.set(timezone, (await service.makeTenant({ timezone })).id);
    const time = fc.integer({ min: Date.UTC(2023, 11, 25), max: Date.UTC(2027, 1, 5) });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...zones), time, async (zone, at) => {
        const windowsAt = (ms: number) => findCalendar(tenants.get(zone) ?? '', new Date(ms).toISOString());
        const calendar = await windowsAt(at);
        expect(calendar.now).toBe(at);
        expect(calendar.periods.total).toEqual({ start: 0, end: null });
        expect(calendar.periods.hour.start % 3_600_000).toBe(0);
        for (const period of periods) {
          if (period === 'total') continue;
          const { start, end } = calendar.periods[period];
          expect(start <= at && at < (end ?? 0)).toBe(true);
          if (period === 'hour') continue;
          expect(firstDays[period](parts(zone, start))).toBe(true);
          // The first moment of the day.
          expect(parts(zone, start - 1)).not.toEqual(parts(zone, start));
          expect((await windowsAt(end ?? 0)).periods[period].start).toBe(end);
        }
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ['2026-03-29T12:00:00Z', 23],
    ['2026-10-25T12:00:00Z', 25],
  ])('have a day of %s with %d hours in Berlin', async (at, hours) => {
    const { id } = await service.makeTenant({ timezone: 'Europe/Berlin' });
    const { start, end } = (await findCalendar(id, at)).periods.day;
    expect(((end ?? 0) - start) / 3_600_000).toBe(hours);
  });
});
