import { maxExportedRows } from '@gatehouse/contract/usage';
import { exportedMeasures } from './cost-export.ts';
import { firstMidnight, labels, startOf, startsClause, startsOf, spansOf } from './key-pg-store.ts';
import { grouped, sourceOf, sumsOf, unfoldedClause, units } from './row-pg-store.ts';
import type { PeriodParts } from './period-parts.ts';
import type { SummaryRequest } from './summary.ts';

/** The months of the days of the period, and the start of the month after them. */
const billingMonths = startsOf(firstMidnight('month'), '14 days', `$2::timestamptz + interval '46 days'`);

/** The part of day `key` in the period, and its month, as times of FOCUS. */
function boundsOf(key: string): string[] {
  const month = `width_bucket(${startOf('day', key)}, (select starts from month_starts))`;
  return [
    `greatest(${startOf('day', key)}, $1)`,
    `least(${startOf('day', `${key} + 1`)}, $2)`,
    startOf('month', month),
    startOf('month', `${month} + 1`),
  ].map((time) => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`);
}

/**
 * The statement of an export: the labels of each group, with `bounds` of its day, the measures, and the number of all
 * groups. Returns one group more than `maxExportedRows` if there are more.
 */
export function exportStatement(
  request: SummaryRequest,
  { bounds, parts }: { bounds: 'day' | null; parts: PeriodParts },
): string {
  const { groupBy } = request;
  const names = groupBy.map((_, index) => `k${index + 1}`);
  const cells = groupBy.map((dimension, index) => labels[dimension](names[index] ?? ''));
  const clauses = [
    ...spansOf(groupBy).map(startsClause),
    ...(bounds === null ? [] : [`month_starts as materialized (${billingMonths}), `]),
  ].join('');
  const dayKey = names[groupBy.indexOf('day')] ?? '';
  return `
    with ${clauses}${unfoldedClause(request)}, grouped as (
      ${grouped(groupBy, { folds: sumsOf(exportedMeasures), rows: units(sourceOf(request, parts)) })}
      order by ${names.join(', ')} limit ${maxExportedRows + 1}
    )
    select ${[...cells, ...(bounds === null ? [] : boundsOf(dayKey)), ...exportedMeasures].join(', ')},
           count(*) over () as found
    from grouped order by ${names.join(', ')}`;
}
