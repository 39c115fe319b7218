import { maxExportedRows, type Dimension } from '@gatehouse/contract/usage';
import { pageBytes } from '@gatehouse/kit/page';
import { costMeasures, exportedMeasures } from './cost-export.ts';
import { innerBuckets, type Period } from './period.ts';
import { kindFor, type PeriodParts, type SettledKind } from './period-parts.ts';
import type { SummaryRequest, UsageFilter } from './summary.ts';
import { dimensions, measures, measuresOfRun, personalDimensions, type Measure } from './usage-statements.ts';

/** The most groups of a summary. */
export const maxGroups = 10_000;

type Span = 'hour' | 'day' | 'month';

/**
 * The starts of all hours, days or months of the period in the time zone `$3`, in order. The steps are shorter than any
 * such span, so that changes of the clock skip none.
 */
const starts: Record<Span, string> = {
  hour: startsOf(`date_trunc('hour', t, 'UTC')`, '30 minutes'),
  day: startsOf(firstMidnight('day'), '12 hours'),
  month: startsOf(firstMidnight('month'), '14 days'),
};

/** When clocks go back over midnight, the day has two midnights, and `date_trunc` returns the second. */
function firstMidnight(span: 'day' | 'month'): string {
  const start = `date_trunc('${span}', t, $3)`;
  const before = `${start} - interval '1 hour'`;
  return `case when (${before}) at time zone $3 >= date_trunc('${span}', ${start} at time zone $3)
               then ${before} else ${start} end`;
}

function startsOf(start: string, step: string, end = '$2'): string {
  return `select array(
    select distinct ${start}
    from (select generate_series($1, ${end}, interval '${step}') union all select ${end}) as steps (t)
    order by 1) as starts`;
}

const spansOf = (groupBy: readonly Dimension[]): Span[] =>
  groupBy.filter((dimension): dimension is Span => Object.hasOwn(starts, dimension));

const startsClause = (span: Span): string => `${span}_starts as materialized (${starts[span]}), `;

/** The number of the span of a row: searching its starts is far cheaper than computing the local day of each row. */
const numberOf = (span: Span): string => `width_bucket(at, (select starts from ${span}_starts))`;
const startOf = (span: Span, key: string): string => `((select starts from ${span}_starts))[${key}]`;

/** The SQL expression of each group key; `at` is the start of the 15-minute bucket, or the end of the run. */
const keys: Record<Dimension, string> = {
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
};

/** The SQL expression of the label of each key, as the response shows it. */
const labels: Record<Dimension, (key: string) => string> = {
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
};

const sumsOf = (shown: readonly Measure[]): string =>
  shown.map((measure) => `sum(${measure}) as ${measure}`).join(', ');

const filters = `$3::text is not null and tenant_id = $4 and ($5::uuid is null or agent_id = $5)
  and ($7::text is null or provider = $7) and ($8::text is null or channel = $8)
  and ($13::text is null or dialect = $13)`;

/** Only the roll-up table `usage` has these columns. */
const personFilters = `($9::text is null or user_id = $9) and ($10::uuid is null or api_key_id = $10)`;

interface Reading {
  table: string;
  columns: string;
  condition?: string;
}

/** The first of the parameters that are the starts and ends of parts of the period. */
const firstOfParts = 14;

/** The condition for rows in parts of the period, of which `before` others come first among the parameters. */
function inParts(parts: readonly Period[], before = 0): string {
  const numbers = parts.map((_, index) => firstOfParts + 2 * (before + index));
  const ranges = numbers.map((number) => `bucket >= $${number} and bucket < $${number + 1}`);
  return parts.length === 0 ? 'false' : `(${ranges.join(' or ')})`;
}

/** Rows of a roll-up table. */
const rowsOf = ({ table, columns, condition = 'true' }: Reading, isInPart: string): string => `
  select ${columns}
  from analytics.${table}
  where ${isInPart} and ${filters} and ($6::text is null or model = $6) and ${condition}`;

/** Rows of quarters of an hour. */
const quarters = ({ parts }: Source, reading: Reading): string => rowsOf(reading, inParts(parts.others));

/** Rows of settled days, to add to others. */
function settled(
  { parts: { kind: own, others, settled: days } }: Source,
  columns: string,
  kind: SettledKind | null = own,
): string {
  if (own === null) return '';
  const condition = `kind = '${kind ?? own}' and ($10::uuid is null or api_key_id = $10)`;
  return `union all ${rowsOf({ table: 'settled_usage', columns, condition }, inParts(days, others.length))}`;
}

const runsBetween = (columns: string, from: string, to: string): string => `
  select ${columns}
  from analytics.traces
  where called and ended_at >= ${from} and ended_at < ${to} and ${filters} and ${personFilters}
    and ($6::text is null or coalesce(model, request_model) = $6)`;

/** The runs before and after the whole 15-minute buckets of the period, which are `$11` to `$12`. */
const runsAtTheEnds = (columns: string): string =>
  `${runsBetween(columns, '$1', 'least($11::timestamptz, $2)')} union all ${runsBetween(columns, '$12', '$2')}`;

const dimensionColumns = dimensions.join(', ');
const personalColumns = personalDimensions.join(', ');

/** The dimensions of a run, in the order of the roll-up columns. */
const runDimensions = `ended_at as at, coalesce(model, request_model) as model, agent_id,
  coalesce(provider, '') as provider, channel, dialect, client, ${personalColumns}`;

/** The tables that a summary reads. */
interface Source {
  table: 'usage' | 'usage_totals';
  parts: PeriodParts;
  /** The kind of rows of settled days that has what the filter needs. */
  kindOfFilter: SettledKind | null;
}

/** All rows to add up: roll-ups, and the runs at the ends of the period. */
function units(source: Source): string {
  const { table } = source;
  const isPersonal = table === 'usage';
  const own = isPersonal
    ? personalColumns
    : 'null::text as user_id, null::uuid as api_key_id, null::text as session_id';
  const columns = `bucket as at, ${dimensionColumns}, ${own}, ${measures.join(', ')}`;
  return `
  ${quarters(source, { table, columns, ...(isPersonal && { condition: personFilters }) })}
  ${settled(source, `bucket, ${dimensionColumns}, user_id, api_key_id, null::text, ${measures.join(', ')}`)}
  union all ${runsAtTheEnds(`${runDimensions}, ${measuresOfRun.join(', ')}`)}`;
}

/** The users of the runs, one row per user and bucket. */
const persons = (source: Source): string => `
  ${quarters(source, {
    table: 'usage',
    columns: `bucket as at, ${dimensionColumns}, ${personalColumns}`,
    condition: `${personFilters} and user_id is not null`,
  })}
  ${settled(source, `bucket, ${dimensionColumns}, user_id, api_key_id, null::text`)}
  union all ${runsAtTheEnds(runDimensions)}`;

/** The users of the runs as bit sets, one for each chunk of 1024 users of the tenant. */
const sets = (source: Source): string => `
  ${quarters(source, { table: 'usage_users', columns: `bucket as at, ${dimensionColumns}, chunk, users` })}
  ${settled(source, `bucket, ${dimensionColumns}, unnest(chunks), unnest(users)`)}
  union all
  select at, ${dimensionColumns}, number / 1024, analytics.user_bit(number)
  from (${runsAtTheEnds(runDimensions)}) as runs join analytics.users using (user_id)
  where users.tenant_id = $4`;

/** The models of attempts without a price, which depend on no group: fewer rows may have them. */
const unpricedModels = (source: Source): string => `
  ${quarters(source, { table: 'unpriced_models', columns: 'unpriced_model', condition: personFilters })}
  ${settled(source, 'unnest(unpriced_models)', source.kindOfFilter)}
  union all
  select unnest(unpriced_models) from (${runsAtTheEnds('unpriced_models')}) as runs where unpriced_models is not null`;

/** The groups that only the table `usage` has. */
const personalGroups: ReadonlySet<Dimension> = new Set(['user', 'api_key', 'session']);

/** Whether only the table `usage` has what the groups and the filter need. */
function isPersonal(groupBy: readonly Dimension[], { user, apiKeyId }: UsageFilter): boolean {
  return user !== null || apiKeyId !== null || groupBy.some((dimension) => personalGroups.has(dimension));
}

/** The tables for a request. */
function sourceOf(request: SummaryRequest, parts: PeriodParts): Source {
  const { groupBy, filter } = request;
  const table = isPersonal(groupBy, filter) ? 'usage' : 'usage_totals';
  return { table, parts, kindOfFilter: kindFor({ ...request, groupBy: [] }) };
}

/** The statement of a summary. Its row without labels is the total, the other rows are the groups. */
export function summaryStatement(request: SummaryRequest, parts: PeriodParts): string {
  const { groupBy, costsOnly = false } = request;
  const figures = costsOnly ? costMeasures : measures;
  const sums = sumsOf(figures);
  const source = sourceOf(request, parts);
  const personal = source.table === 'usage';
  const names = groupBy.map((_, index) => `k${index + 1}`);
  const list = names.map((name) => `${name}, `).join('');
  const shown = groupBy.map((dimension, index) => labels[dimension](names[index] ?? '')).join(', ');
  // Groups and their user counts come from a union: a join would not match keys that are null.
  const peopleOfGroups = `
           select ${list}${figures.map(() => '0').join(', ')}, ${personal ? 'count(user_id)' : 'sum(bit_count(users))'}
           from people group by ${names.join(', ')}`;
  const groups = `
    union all
    (select labels, ${figures.join(', ')}, people, null, null
     from (
       select grouped.*, sum(octet_length(labels::text))
                over (order by ${names.join(', ')} rows between unbounded preceding and 1 preceding) as bytes_before
       from (
         select ${list}array[${shown}]::text[] as labels, ${sums}, sum(people) as people
         from (
           select ${list}${figures.join(', ')}, 0 as people from sums
           ${costsOnly ? '' : `union all ${peopleOfGroups}`}
         ) as both_kinds
         group by ${names.join(', ')} order by ${names.join(', ')} limit ${maxGroups + 1}
       ) as grouped
     ) as bounded
     -- Labels are shorter than the JSON that is made of them, so that the answer leaves out the last one of these.
     where coalesce(bytes_before, 0) < ${pageBytes}
     order by ${names.join(', ')})`;
  const people = personal
    ? grouped(groupBy, { column: 'user_id', rows: persons(source) })
    : grouped(groupBy, { column: 'chunk', folds: 'bit_or(users) as users', rows: sets(source) });
  const inAll = personal
    ? 'select count(distinct user_id) from people'
    : 'select sum(bit_count(users)) from (select bit_or(users) as users from people group by chunk) as chunks';
  return `
    with ${spansOf(groupBy).map(startsClause).join('')}
    sums as materialized (${grouped(groupBy, { folds: sums, rows: units(source) })})${costsOnly ? '' : `, people as materialized (${people})`}
    (select null::text[] as labels, ${sums}, (${costsOnly ? '0' : inAll}) as unique_users,
            (select array_agg(distinct unpriced_model order by unpriced_model)
             from (${unpricedModels(source)}) as unpriced) as unpriced_models,
            (${asOf}) as as_of
     from sums)
    ${groupBy.length === 0 ? '' : groups}`;
}

interface Grouping {
  /** A column that rows are also grouped by. */
  column?: string;
  folds?: string;
  rows: string;
}

/** Groups `rows` by the keys of `groupBy`. */
function grouped(groupBy: readonly Dimension[], { column, folds, rows }: Grouping): string {
  const keyColumns = groupBy.map((dimension, index) => `${keys[dimension]} as k${index + 1}`);
  const by = [...keyColumns, ...(column === undefined ? [] : [column])];
  const places = by.map((_, index) => index + 1).join(', ');
  return `select ${[...by, ...(folds === undefined ? [] : [folds])].join(', ')} from (${rows}) as rows
    ${by.length === 0 ? '' : `group by ${places}`}`;
}

/** The months of the days of the period, and the start of the month after them. */
const billingMonths = startsOf(firstMidnight('month'), '14 days', `$2::timestamptz + interval '46 days'`);

/** The part of day `key` that is in the period, and its month, as times of FOCUS. */
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
  const shown = groupBy.map((dimension, index) => labels[dimension](names[index] ?? ''));
  const clauses = [
    ...spansOf(groupBy).map(startsClause),
    ...(bounds === null ? [] : [`month_starts as materialized (${billingMonths}), `]),
  ].join('');
  const added = sumsOf(exportedMeasures);
  const dayKey = names[groupBy.indexOf('day')] ?? '';
  return `
    with ${clauses}grouped as (
      select ${groupBy.map((dimension, index) => `${keys[dimension]} as ${names[index] ?? ''}`).join(', ')}, ${added}
      from (${units(sourceOf(request, parts))}) as rows
      group by ${names.join(', ')} order by ${names.join(', ')} limit ${maxExportedRows + 1}
    )
    select ${[...shown, ...(bounds === null ? [] : boundsOf(dayKey)), ...exportedMeasures].join(', ')},
           count(*) over () as found
    from grouped order by ${names.join(', ')}`;
}

/** The values of `$1` to `$13`, and the starts and ends of the parts of the period. */
export function summaryValues(
  tenantId: string,
  { period, filter, timezone }: SummaryRequest,
  { others, settled: days }: PeriodParts,
): unknown[] {
  const inner = innerBuckets(period);
  return [
    ...[period.from, period.to, timezone, tenantId],
    ...[filter.agentId, filter.model, filter.provider, filter.channel, filter.user, filter.apiKeyId],
    ...[inner.from, inner.to, filter.dialect],
    ...[...others, ...days].flatMap(({ from, to }) => [from, to]),
  ];
}

/**
 * The statement that finds the settled days of the tenant `$4` in the whole quarters of a period, `$5` to `$6`, and the
 * ends of groups by day or month in it.
 */
export function settledDaysStatement(groupBy: readonly Dimension[]): string {
  const cut = spansOf(groupBy).find((span) => span !== 'hour');
  const cuts =
    cut === undefined ? `'{}'::timestamptz[]` : `(${starts[groupBy.includes('day') ? 'day' : cut]})`;
  return `
    select array(
      select day from analytics.settled_days
      where tenant_id = $4 and day > $5::timestamptz - interval '1 day' and day < $6 and state = 'settled'
        and $1::timestamptz < $2::timestamptz and $3::text is not null
      order by day) as days, ${cuts} as cuts`;
}

/** The lowest watermark; null until every partition of every source has one. */
export const asOf = `
  select case when bool_and(complete) then min(least) end from (
    select count(*) = max(partitions) as complete, min(watermark) as least
    from analytics.watermarks group by source) as sources`;
