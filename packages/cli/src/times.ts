import { UsageError } from './usage-error.ts';

const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

export interface TimeSettings {
  /** The option, for errors. */
  option: string;
  now: Date;
  /** Whether `7d` is a week ago or ahead. */
  direction: 'past' | 'future';
  /** IANA time zone of dates without a time. */
  timezone: string;
}

/**
 * The RFC 3339 time of a text: `7d` (also `m`, `h` and `w`), a date, `today` or `yesterday`, which begin at midnight in
 * the time zone, or RFC 3339 itself, which is returned as it is. Throws `UsageError` for others.
 */
export function timeOf(text: string, { option, now, direction, timezone }: TimeSettings): string {
  const [, count, unit = ''] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (count !== undefined) {
    const distanceMs = Number(count) * (units[unit] ?? 0);
    return new Date(now.getTime() + (direction === 'past' ? -distanceMs : distanceMs)).toISOString();
  }
  if (text === 'today' || text === 'yesterday') {
    const today = dateFormat(timezone)(now.getTime());
    const noon = Date.parse(`${today}T12:00:00Z`) - (text === 'today' ? 0 : 86_400_000);
    return startOfDay(new Date(noon).toISOString().slice(0, 10), { option, timezone });
  }
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return startOfDay(text, { option, timezone });
  if (/^\d{4}-\d\d-\d\dT/i.test(text)) return text;
  throw new UsageError(
    `--${option} takes 7d, 24h or 30m, today, yesterday, a date such as 2026-11-01, or a time in RFC 3339`,
  );
}

function startOfDay(date: string, { option, timezone }: Pick<TimeSettings, 'option' | 'timezone'>): string {
  const noon = Date.parse(`${date}T12:00:00Z`);
  if (Number.isNaN(noon) || new Date(noon).toISOString().slice(0, 10) !== date)
    throw new UsageError(`--${option}: there is no date ${date}`);
  const localDate = dateFormat(timezone);
  // Clocks are at most 14 hours ahead of UTC and 12 behind it, and a day may begin after midnight in summer time.
  let [before, first] = [noon - 27 * 3_600_000, noon + 3 * 3_600_000];
  while (first - before > 1) {
    const middle = Math.floor((before + first) / 2);
    if (localDate(middle) < date) before = middle;
    else first = middle;
  }
  return new Date(first).toISOString();
}

/** The local date of an instant, as `2026-11-01`. */
function dateFormat(timezone: string): (at: number) => string {
  try {
    // Sweden writes dates as ISO 8601 does.
    const format = new Intl.DateTimeFormat('sv-SE', { timeZone: timezone });
    return (at) => format.format(at);
  } catch {
    throw new UsageError(`There is no time zone ${timezone}. Give one such as Europe/Berlin.`);
  }
}
