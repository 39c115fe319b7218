import type { Queryable } from '@gatehouse/pg/pool';
import { divide, kindFor, type PeriodParts } from './period-parts.ts';
import { innerBuckets } from './period.ts';
import type { SummaryRequest } from './summary.ts';
import type { Dimension } from '@gatehouse/contract/usage';
import { type Span, spansOf, starts } from './key-pg-store.ts';

/** The parts of a period, each with its rows. Sums over these must be of the same snapshot. */
export async function readParts(
  db: Queryable,
  tenantId: string | null,
  request: SummaryRequest,
): Promise<PeriodParts> {
  const { period, timezone, groupBy } = request;
  const inner = innerBuckets(period);
  const kind = kindFor(request);
  if (kind === null) return divide(inner, null, { days: [], cuts: [] });
  const known = await db.one<{
    days: Date[];
    cutsOfDays: (Date | null)[];
    haveSessions: boolean[];
    haveGroups: boolean[];
    cuts: Date[];
  }>(settledDaysStatement(groupBy), [period.from, period.to, timezone, tenantId, inner.from, inner.to]);
  const days = known.days.map((day, index) => ({ day, cut: known.cutsOfDays[index] ?? null }));
  const { haveSessions, haveGroups } = known;
  const served = days.filter(
    (_, index) =>
      (kind !== 'session' || haveSessions[index] === true) &&
      (kind !== 'group' || haveGroups[index] === true),
  );
  return divide(inner, kind, { days: served, cuts: known.cuts });
}

/**
 * The statement to find the settled days of the tenant `$4` in the whole quarters of a period, `$5` to `$6`, and the
 * ends of groups by day or month in it.
 */
export function settledDaysStatement(groupBy: readonly Dimension[]): string {
  const cut = spansOf(groupBy).find((span) => span !== 'hour');
  const cuts =
    cut === undefined ? `'{}'::timestamptz[]` : `(${starts[groupBy.includes('day') ? 'day' : cut]})`;
  const days = (format: string): string => `array(
      select ${format} from analytics.settled_days
      where tenant_id = $4 and day > $5::timestamptz - interval '1 day' and day < $6 and state = 'settled'
        and $1::timestamptz < $2::timestamptz and $3::text is not null
      order by day)`;
  return `
    select ${days('day')} as days, ${days('case when cut_hours = 24 then cut end')} as "cutsOfDays",
           ${days('cut_hours = 24')} as "haveSessions", ${days('group_hours = 24')} as "haveGroups", ${cuts} as cuts`;
}

/** The statement to find the starts of all groups of a time, `$1` to `$2`, in the time zone `$3`. */
export const startsStatement = (span: Span): string =>
  `select starts from (${starts[span]}) as known where $3::text is not null`;
