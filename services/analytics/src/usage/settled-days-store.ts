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
  const { days, cutsOfDays, cuts } = only(
    await db.query<{ days: Date[]; cutsOfDays: (Date | null)[]; cuts: Date[] }>(
      settledDaysStatement(groupBy),
      [period.from, period.to, timezone, tenantId, inner.from, inner.to],
    ),
  );
  return divide(inner, kind, {
    days: days.map((day, index) => ({ day, cut: cutsOfDays[index] ?? null })),
    cuts,
  });
}
