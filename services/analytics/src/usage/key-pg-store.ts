import type { Dimension } from '@gatehouse/contract/usage';

/** The keys of groups, as SQL: the start of each group of time, and the labels the response shows. */

export type Span = 'hour' | 'day' | 'month';

/**
 * The starts of all hours, days or months of the period in the time zone `$3`, in order. The steps are shorter than any
 * of these spans, so changes of the clock skip no start.
 */
export const starts: Record<Span, string> = {
  hour: startsOf(`date_trunc('hour', t, 'UTC')`, '30 minutes'),
  day: startsOf(firstMidnight('day'), '12 hours'),
  month: startsOf(firstMidnight('month'), '14 days'),
};

/** When clocks go back over midnight, the day has two midnights, and `date_trunc` returns the second. */
export function firstMidnight(span: 'day' | 'month', zone = '$3'): string {
  const start = `date_trunc('${span}', t, ${zone})`;
  const before = `${start} - interval '1 hour'`;
  return `case when (${before}) at time zone ${zone} >= date_trunc('${span}', ${start} at time zone ${zone})
               then ${before} else ${start} end`;
}

/** The first midnight of a time zone within a day in UTC, if it is the start of a quarter of an hour; else null. */
export const midnightWithin = (day: string, zone: string): string => `(
  select min(start)
  from (
    select ${firstMidnight('day', zone)}
    from generate_series(${day}, ${day} + interval '1 day', interval '12 hours') as steps (t)
  ) as starts (start)
  where start > ${day} and start < ${day} + interval '1 day' and start = date_bin('15 minutes', start, 'epoch'))`;

export function startsOf(start: string, step: string, end = '$2'): string {
  return `select array(
    select distinct ${start}
    from (select generate_series($1, ${end}, interval '${step}') union all select ${end}) as steps (t)
    order by 1) as starts`;
}

export const isSpan = (dimension: Dimension): dimension is Span => Object.hasOwn(starts, dimension);

export const spansOf = (groupBy: readonly Dimension[]): Span[] => groupBy.filter(isSpan);

export const startsClause = (span: Span): string => `${span}_starts as materialized (${starts[span]}), `;

/** The number of the span of a row: searching its starts is far cheaper than computing the local day of each row. */
const numberOf = (span: Span): string => `width_bucket(at, (select starts from ${span}_starts))`;
export const startOf = (span: Span, key: string): string => `((select starts from ${span}_starts))[${key}]`;

/** The SQL expression of each group key; `at` is the start of the 15-minute bucket, or the end of the run. */
export const keys: Record<Dimension, string> = {
  hour: numberOf('hour'),
  day: numberOf('day'),
  month: numberOf('month'),
  agent: 'agent_id',
  model: 'model',
  provider: 'provider',
  channel: 'channel',
  dialect: 'dialect',
  client: 'client',
  user: 'user_id',
  api_key: 'api_key_id',
  session: 'session_id',
  tenant: 'tenant_id',
  error_code: 'error_code',
  group: 'group_name',
};

/** The SQL expression of the label of each key, as the response shows it. */
export const labels: Record<Dimension, (key: string) => string> = {
  hour: (key) => `to_char(${startOf('hour', key)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  day: (key) => `to_char(${startOf('day', key)} at time zone $3, 'YYYY-MM-DD')`,
  month: (key) => `to_char(${startOf('month', key)} at time zone $3, 'YYYY-MM')`,
  agent: (key) => `${key}::text`,
  model: (key) => key,
  provider: (key) => `nullif(${key}, '')`,
  channel: (key) => key,
  dialect: (key) => key,
  client: (key) => key,
  user: (key) => key,
  api_key: (key) => `${key}::text`,
  session: (key) => key,
  tenant: (key) => `${key}::text`,
  error_code: (key) => key,
  group: (key) => key,
};
