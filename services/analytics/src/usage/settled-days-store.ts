import type { Queryable } from '@gatehouse/pg/pool';
import { only } from '@gatehouse/pg/rows';
import { divide, kindFor, type PeriodParts } from './period-parts.ts';
import { innerBuckets } from './period.ts';
import { settledDaysStatement } from './settled-days-statements.ts';
import type { SummaryRequest } from './summary.ts';

/** The parts of a period and the rows that serve them. Sums over these must be of the same snapshot. */
export async function readParts(
  db: Queryable,
  tenantId: string,
  request: SummaryRequest,
): Promise<PeriodParts> {
  const { period, timezone, groupBy } = request;
  const inner = innerBuckets(period);
  const kind = kindFor(request);
  if (kind === null) return divide(inner, null, { days: [], cuts: [] });
  const known = only(
    await db.query<{ days: Date[]; cutsOfDays: (Date | null)[]; haveSessions: boolean[]; cuts: Date[] }>(
      settledDaysStatement(groupBy),
      [period.from, period.to, timezone, tenantId, inner.from, inner.to],
    ),
  );
  const days = known.days.map((day, index) => ({ day, cut: known.cutsOfDays[index] ?? null }));
  const served = days.filter((_, index) => kind !== 'session' || known.haveSessions[index] === true);
  return divide(inner, kind, { days: served, cuts: known.cuts });
}
