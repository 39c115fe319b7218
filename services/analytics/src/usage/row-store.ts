import type { Dimension } from '@gatehouse/contract/usage';
import { keys } from './key-store.ts';
import { innerBuckets, type Period } from './period.ts';
import { kindFor, type PeriodParts } from './period-parts.ts';
import type { SummaryRequest, UsageFilter } from './summary.ts';
import {
  countedColumns,
  dimensions,
  isUnfolded,
  measures,
  measuresOfRun,
  personalDimensions,
  type Figure,
} from './measure-store.ts';

/** Rows for summaries and exports to add up, as SQL: those of roll-ups, and single runs. */

const filters = `$3::text is not null and ($5::uuid is null or agent_id = $5) and ($8::text is null or channel = $8)
  and ($13::text is null or dialect = $13)`;

/** The condition for rows of the tenant `$4`; for all tenants it is null. */
const tenantCondition = ({ allTenants }: Pick<SummaryRequest, 'allTenants'>): string =>
  allTenants === true ? '$4::uuid is null' : 'tenant_id = $4';

const providerCondition = '($7::text is null or provider = $7)';

/** Only the roll-up table `usage` has these columns. */
const personFilters = `($9::text is null or user_id = $9) and ($10::uuid is null or api_key_id = $10)`;

interface Reading {
  table: string;
  columns: string;
  condition?: string;
  /** The condition of the filter by provider. */
  filter?: string;
}

/** The first parameter for the starts and ends of parts of the period. */
const firstOfParts = 14;

/** The condition for rows in parts of the period, of which `before` others come first among the parameters. */
function inParts(parts: readonly Period[], before = 0): string {
  const numbers = parts.map((_, index) => firstOfParts + 2 * (before + index));
  const ranges = numbers.map((number) => `bucket >= $${number} and bucket < $${number + 1}`);
  return parts.length === 0 ? 'false' : `(${ranges.join(' or ')})`;
}

/** Rows of a roll-up table. */
const rowsOf = (
  source: Source,
  { table, columns, condition = 'true', filter = providerCondition }: Reading,
  isInPart: string,
): string => `
  select ${columns}
  from analytics.${table}
  where ${isInPart} and ${tenantCondition(source)} and ${filters} and ($6::text is null or model = $6) and ${filter}
    and ${condition}`;

/** Rows of quarters of an hour. */
const quarters = (source: Source, reading: Reading): string =>
  rowsOf(source, reading, inParts(source.parts.others));

/** Rows of settled days, to add to others. */
function settled(source: Source, columns: string): string {
  const { kind, others, settled: days } = source.parts;
  if (kind === null) return '';
  const condition = `kind = '${kind}' and ($10::uuid is null or api_key_id = $10)`;
  const reading = { table: 'settled_usage', columns, condition };
  return `union all ${rowsOf(source, reading, inParts(days, others.length))}`;
}

/** The times between which runs ended, and the table with their rows. */
type RunsBetween = readonly [from: string, to: string, runs?: string];

const runsBetween = (
  source: Source,
  columns: string,
  [from, to, runs = 'analytics.traces']: RunsBetween,
): string => `
  select ${columns}
  from ${runs}
  where called and ended_at >= ${from} and ended_at < ${to} and ${tenantCondition(source)} and ${filters} and ${providerCondition}
    and ${personFilters} and ($6::text is null or coalesce(model, request_model) = $6)`;

/**
 * The clause with the runs of the tenants no roll-up has, for statements with rows of this file. They are read once, and
 * by themselves: an index of them serves any period.
 */
export const unfoldedClause = (request: SummaryRequest): string => `unfolded as materialized (
  select ${countedColumns.replace('bucket', 'ended_at')}, request_model, called
  from analytics.traces where ${tenantCondition(request)} and ${isUnfolded})`;

/**
 * The runs to read one by one: those before and after the whole 15-minute buckets of the period, which are `$11` to
 * `$12`, and those in between no roll-up has yet.
 */
const singleRuns = (source: Source, columns: string): string => {
  const spans: readonly RunsBetween[] = [
    ['$1', 'least($11::timestamptz, $2)'],
    ['$12', '$2'],
    ['$11', '$12', 'unfolded'],
  ];
  return spans.map((span) => runsBetween(source, columns, span)).join(' union all ');
};

const dimensionColumns = dimensions.join(', ');
const personalColumns = personalDimensions.join(', ');

/** The dimensions of a run, in the order of the roll-up columns. */
const runDimensions = `ended_at as at, tenant_id, coalesce(model, request_model) as model, agent_id,
  coalesce(provider, '') as provider, channel, dialect, client, ${personalColumns}`;

/** The tables a summary reads. */
export interface Source {
  table: 'usage' | 'usage_totals';
  parts: PeriodParts;
  allTenants?: true;
  /** Whether refused requests are among the rows. */
  withRefused?: true;
}

/** All rows to add up: roll-ups, and single runs. */
export function units(source: Source): string {
  const { table } = source;
  const isPersonal = table === 'usage';
  const personal = isPersonal
    ? personalColumns
    : 'null::text as user_id, null::uuid as api_key_id, null::text as session_id';
  const figures = `${noCode}, ${measures.join(', ')}, 0 as refused`;
  const columns = `bucket as at, tenant_id, ${dimensionColumns}, ${personal}, ${figures}`;
  return `
  ${quarters(source, { table, columns, ...(isPersonal && { condition: personFilters }) })}
  ${settled(source, `bucket, tenant_id, ${dimensionColumns}, ${personalColumns}, ${figures}`)}
  union all ${singleRuns(source, `${runDimensions}, ${noCode}, ${measuresOfRun.join(', ')}, 0`)}
  ${source.withRefused === true ? `union all ${refusals(source)}` : ''}`;
}

/** Runs are in no group of an error code. */
const noCode = 'null::text as error_code';
const nothing = measures.map(() => '0').join(', ');

/** Refused requests, of the quarters of an hour that begin in the period. They have no provider. */
const refusals = (source: Source): string =>
  rowsOf(
    source,
    {
      table: 'refused_usage',
      columns: `bucket, tenant_id, model, agent_id, '' as provider, channel, dialect, client, user_id, api_key_id,
        null::text, code, ${nothing}, refused`,
      condition: personFilters,
      filter: '$7::text is null',
    },
    'bucket >= $1 and bucket < $2',
  );

/** The users of the runs as bit sets, one for each chunk of 1024 users of a tenant. */
export const sets = (source: Source): string => `
  ${quarters(source, { table: 'usage_users', columns: `bucket as at, tenant_id, ${dimensionColumns}, ${noCode}, chunk, users` })}
  ${settled(source, `bucket, tenant_id, ${dimensionColumns}, ${noCode}, unnest(chunks), unnest(users)`)}
  union all
  select at, tenant_id, ${dimensionColumns}, ${noCode}, number / 1024, analytics.user_bit(number)
  from (${singleRuns(source, runDimensions)}) as runs join analytics.users using (tenant_id, user_id)
  where ${tenantCondition(source)}`;

/** The models of attempts without a price. */
export const unpricedModels = (source: Source): string => `
  ${quarters(source, { table: 'unpriced_models', columns: 'unpriced_model', condition: personFilters })}
  ${settled(source, 'unnest(unpriced_models)')}
  union all
  select unnest(unpriced_models) from (${singleRuns(source, 'unpriced_models')}) as runs where unpriced_models is not null`;

/** The groups of the table `usage` only. */
const personalGroups: ReadonlySet<Dimension> = new Set(['user', 'api_key', 'session']);

/** Whether only the table `usage` has what the groups and the filter need. */
function isPersonal(groupBy: readonly Dimension[], { user, apiKeyId }: UsageFilter): boolean {
  return user !== null || apiKeyId !== null || groupBy.some((dimension) => personalGroups.has(dimension));
}

/** Whether groups are added up from other rows than totals, which need fewer. */
export function readsOtherRows(request: SummaryRequest): boolean {
  const { groupBy, filter } = request;
  return (
    isPersonal(groupBy, filter) !== isPersonal([], filter) ||
    kindFor(request) !== kindFor({ ...request, groupBy: [] })
  );
}

/** The tables for a request. */
export function sourceOf(request: SummaryRequest, parts: PeriodParts): Source {
  const { groupBy, filter, allTenants, figures, withRefused = figures !== 'costs' } = request;
  const table = isPersonal(groupBy, filter) ? 'usage' : 'usage_totals';
  return { table, parts, ...(allTenants && { allTenants }), ...(withRefused && { withRefused }) };
}

const uuidGroups: ReadonlySet<Dimension> = new Set(['agent', 'api_key', 'tenant']);

/** The condition for rows with one of `firstKeys` as their first key. */
export function hasFirstKey(
  { groupBy, firstKeys }: SummaryRequest,
  { others, settled: days }: PeriodParts,
): string {
  const [first] = groupBy;
  if (first === undefined || firstKeys === undefined) return 'true';
  if (firstKeys === 'none') return `${keys[first]} is null`;
  const after = firstOfParts + 2 * (others.length + days.length);
  const type = uuidGroups.has(first) ? 'uuid' : 'text';
  return `($${after}::${type} is null or ${keys[first]} > $${after}::${type}) and ${keys[first]} <= $${after + 1}::${type}`;
}

/** The values of `$1` to `$13`, the starts and ends of the parts of the period, and those of `firstKeys`. */
export function summaryValues(
  tenantId: string | null,
  { period, filter, timezone, firstKeys }: SummaryRequest,
  { others, settled: days }: PeriodParts,
): unknown[] {
  const inner = innerBuckets(period);
  return [
    ...[period.from, period.to, timezone, tenantId],
    ...[filter.agentId, filter.model, filter.provider, filter.channel, filter.user, filter.apiKeyId],
    ...[inner.from, inner.to, filter.dialect],
    ...[...others, ...days].flatMap(({ from, to }) => [from, to]),
    ...(typeof firstKeys === 'object' ? [firstKeys.after, firstKeys.upTo] : []),
  ];
}

export const sumsOf = (measures: readonly Figure[]): string =>
  measures.map((measure) => `sum(${measure}) as ${measure}`).join(', ');

interface Grouping {
  /** Further columns to group rows by. */
  columns?: readonly string[];
  folds?: string;
  rows: string;
  condition?: string;
}

/** Groups `rows` by the keys of `groupBy`. */
export function grouped(
  groupBy: readonly Dimension[],
  { columns = [], folds, rows, condition = 'true' }: Grouping,
): string {
  const keyColumns = groupBy.map((dimension, index) => `${keys[dimension]} as k${index + 1}`);
  const by = [...keyColumns, ...columns];
  const places = by.map((_, index) => index + 1).join(', ');
  return `select ${[...by, ...(folds === undefined ? [] : [folds])].join(', ')} from (${rows}) as rows where ${condition}
    ${by.length === 0 ? '' : `group by ${places}`}`;
}
