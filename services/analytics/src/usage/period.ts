import { dayMs } from '@gatehouse/kit/bounds';
import { AppError } from '@gatehouse/kit/errors';

/** `from` is inclusive, `to` is exclusive. */
export interface Period {
  from: Date;
  to: Date;
}

const maxDays = 400;
/** The longest period. */
export const maxPeriodMs = maxDays * dayMs;

/** The requested period; the last 24 hours by default. Throws a 400 when it is empty or longer than `maxDays`. */
export function periodOf(query: { from?: string | undefined; to?: string | undefined }, now: Date): Period {
  const to = query.to === undefined ? now : new Date(query.to);
  const from = query.from === undefined ? new Date(to.getTime() - dayMs) : new Date(query.from);
  if (from >= to)
    throw new AppError('invalid_value', 'Invalid value for from: must be before to.', { param: 'from' });
  if (to.getTime() - from.getTime() > maxPeriodMs)
    throw new AppError('invalid_value', `Invalid value for from: at most ${maxDays} days before to.`, {
      param: 'from',
    });
  return { from, to };
}

/** The period of the same length before this one. */
export function previousOf({ from, to }: Period): Period {
  return { from: new Date(2 * from.getTime() - to.getTime()), to: from };
}

const bucketMs = 15 * 60_000;

/** The whole 15-minute buckets of a period; empty without one. */
export function innerBuckets({ from, to }: Period): Period {
  const first = Math.ceil(from.getTime() / bucketMs) * bucketMs;
  const end = Math.floor(to.getTime() / bucketMs) * bucketMs;
  return { from: new Date(first), to: new Date(Math.max(first, end)) };
}
