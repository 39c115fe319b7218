import { dayMs, minuteMs } from '@gatehouse/kit/bounds';

/** Times of the API in the time zone of the tenant. */

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    hourCycle: 'h23',
    ...({ year: 'numeric', month: '2-digit', day: '2-digit' } as const),
    ...({ hour: '2-digit', minute: '2-digit', second: '2-digit' } as const),
  });
  formats.set(zone, made);
  return made;
}

function partsOf(at: Date, zone: string): Record<string, string> {
  return Object.fromEntries(
    formatOf(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
}

/** A Unix time in seconds as times of the API are written. */
export function unixTime(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}

/** `2026-03-29 14:05:09` */
export function timeIn(at: string, zone: string): string {
  const { year, month, day, hour, minute, second } = partsOf(new Date(at), zone);
  return `${year}-${month}-${day} ${hour}:${minute}:${second}`;
}

/** `Mar 29, 14:05`, and `Mar 29, 2025` in another year than `now`. */
export function shortTimeIn(at: string, zone: string, now = new Date()): string {
  const { year, month, day, hour, minute } = partsOf(new Date(at), zone);
  const label = dayLabel(`${year}-${month}-${day}`);
  return year === partsOf(now, zone)['year'] ? `${label}, ${hour}:${minute}` : `${label}, ${year}`;
}

/** `Mar 29, 14:05:09`, and `Mar 29, 2025, 14:05:09` in another year than `now`. */
export function exactTimeIn(at: string, zone: string, now = new Date()): string {
  const { year, month, day, hour, minute, second } = partsOf(new Date(at), zone);
  const label = dayLabel(`${year}-${month}-${day}`);
  const date = year === partsOf(now, zone)['year'] ? label : `${label}, ${year}`;
  return `${date}, ${hour}:${minute}:${second}`;
}

/** `2026-03-29`: the day of a moment. */
export function dayIn(at: Date, zone: string): string {
  const { year, month, day } = partsOf(at, zone);
  return `${year}-${month}-${day}`;
}

const dayFormat = new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', month: 'short', day: 'numeric' });

/** `Mar 29`: a day of the calendar as a chart names it. */
export function dayLabel(day: string): string {
  return dayFormat.format(new Date(`${day}T00:00:00Z`));
}

/** The day `days` after another one. */
export function dayAfter(day: string, days = 1): string {
  const at = new Date(`${day}T00:00:00Z`);
  at.setUTCDate(at.getUTCDate() + days);
  return at.toISOString().slice(0, 10);
}

/** `8 s`, `3 min 20 s` or `2 h 5 min`: the time from a moment until `now`, by the clock of the browser. */
export function elapsedSince(at: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(at)) / 1_000));
  const minutes = Math.floor(seconds / 60);
  if (minutes === 0) return `${seconds} s`;
  return minutes < 60
    ? `${minutes} min ${seconds % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** All days from `first` to `last`, both included. */
export function daysBetween(first: string, last: string): string[] {
  const days: string[] = [];
  for (let day = first; day <= last && days.length < 400; day = dayAfter(day)) days.push(day);
  return days;
}

/** No zone is further from UTC. */
const furthestMinutes = 15 * 60;

/** The first moment of a day in a zone, which isn't midnight where clocks skip it. */
export function startOfDay(day: string, zone: string): Date {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  let [before, after] = [-furthestMinutes, furthestMinutes];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (dayIn(new Date(midnight + middle * minuteMs), zone) < day) before = middle;
    else after = middle;
  }
  return new Date(midnight + after * minuteMs);
}

/** The moment so many days from now. */
export function daysFromNow(days: number): string {
  return new Date(Date.now() + days * dayMs).toISOString();
}
