import { minuteMs } from '@gatehouse/kit/bounds';
import { milliseconds } from './limit-store.ts';
import { periods, type Calendar, type Period } from './policy-counters.ts';

/** The windows of counters at one moment, calculated by PostgreSQL, which knows the time zones. */

export interface CalendarRow extends Record<'start' | 'now' | 'minute', number> {
  period: Period;
  end: number | null;
}

/**
 * Common table expressions up to `calendar`, with a row for each period at the time `at`, in the zone of the budgets of
 * tenant `$1`.
 */
export function calendarExpressions(at: string): string {
  return `clock as materialized (select ${at} as at),
     zones as materialized (
       select tenant.timezone_or_utc(budget_timezone) as zone from tenant.tenants where id = $1
     ), windows as (
       select period, at, case period when 'hour' then 'UTC' else zone end as zone,
              case period when 'quarter' then interval '3 months' when 'total' then null
                else ('1 ' || period)::interval end as length
       from clock, zones, unnest('{${periods.join()}}'::text[]) as p (period)
     ), started as (
       select period, at, zone, length,
              case when length is null then null else date_trunc(period, at at time zone zone) end as start
       from windows
     ), calendar as (
       select period, ${milliseconds('at')} as now, ${milliseconds(`date_trunc('minute', at)`)} as minute,
              coalesce(${milliseconds('start at time zone zone')}, 0) as start,
              ${milliseconds('(start + length) at time zone zone')} as "end"
       from started
     )`;
}

/** The calendar of these rows, which are of all periods. */
export function calendarOf(rows: readonly CalendarRow[]): Calendar {
  const { now, minute } = rows[0] ?? { now: 0, minute: 0 };
  return {
    now,
    minute: { start: minute, end: minute + minuteMs },
    // Each period has a row.
    periods: Object.fromEntries(
      rows.map(({ period, start, end }) => [period, { start, end }]),
    ) as unknown as Calendar['periods'],
  };
}
