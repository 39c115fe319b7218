import { dayAfter, dayIn, dayLabel, daysBetween, startOfDay } from './times.ts';

/** The periods of all figures of a page. */
export const periods = {
  today: 'Today',
  yesterday: 'Yesterday',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  month: 'This month',
  last_month: 'Last month',
} as const;
/** A period by its name, or one day such as `2026-03-29`. */
export type PeriodName = keyof typeof periods | Day;
type Day = `${number}-${number}-${number}`;

export function isPeriod(text: string): text is PeriodName {
  return Object.hasOwn(periods, text) || isDay(text);
}

function isDay(text: string): text is Day {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const at = new Date(text);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

/** The periods to choose from, with the chosen one. */
export function periodOptions(chosen: string): Readonly<Record<string, string>> {
  return isDay(chosen) ? { ...periods, [chosen]: dayLabel(chosen) } : periods;
}

/** Days of a tenant, both included. */
export interface Days {
  first: string;
  last: string;
}

/** The days of a period at a moment, by the tenant's calendar. */
export function daysOf(name: PeriodName, now: Date, zone: string): Days {
  if (isDay(name)) return { first: name, last: name };
  const today = dayIn(now, zone);
  const month = `${today.slice(0, 8)}01`;
  switch (name) {
    case 'today':
      return { first: today, last: today };
    case 'yesterday': {
      const day = dayAfter(today, -1);
      return { first: day, last: day };
    }
    case '7d':
      return { first: dayAfter(today, -6), last: today };
    case '30d':
      return { first: dayAfter(today, -29), last: today };
    case 'month':
      return { first: month, last: today };
    case 'last_month': {
      const last = dayAfter(month, -1);
      return { first: `${last.slice(0, 8)}01`, last };
    }
  }
}

/**
 * The days before a period, by the calendar: as many days, or the same days of the month before. Months of fewer days
 * end with their last one.
 */
export function daysBefore(name: PeriodName, { first, last }: Days): Days {
  const end = dayAfter(first, -1);
  if (name === 'last_month') return { first: `${end.slice(0, 8)}01`, last: end };
  if (name === 'month') {
    const same = `${end.slice(0, 8)}${last.slice(8)}`;
    return { first: `${end.slice(0, 8)}01`, last: same < end ? same : end };
  }
  return { first: dayAfter(first, -daysBetween(first, last).length), last: end };
}

/** The query parameters of a summary of these days. */
export function rangeOf({ first, last }: Days, zone: string): { from: string; to: string; timezone: string } {
  return {
    from: startOfDay(first, zone).toISOString(),
    to: startOfDay(dayAfter(last), zone).toISOString(),
    timezone: zone,
  };
}
