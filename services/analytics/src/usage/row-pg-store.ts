import type { Dimension } from '@gatehouse/contract/usage';
import { keys } from './key-pg-store.ts';
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
  sameUnpricedKey,
  type Figure,
} from './measure-pg-store.ts';

/** Rows for summaries and exports to add up, as SQL: those of roll-ups, and single runs. */

const filters = `$3::text is not null and ($5::uuid is null or agent_id = $5) and ($8::text is null or channel = $8)
  and ($13::text is null or dialect = $13)`;

/** The condition for rows of the tenant `$4`; for all tenants it is null. */
const tenantCondition = ({ allTenants }: Pick<SummaryRequest, 'allTenants'>): string =>
  allTenants === true ? '$4::uuid is null' : 'tenant_id = $4';

const providerCondition = '($7::text is null or provider = $7)';

/** Only the roll-up tables `usage` and `grouped_usage` have these columns. */
const personFilters = `($9::text is null or user_id = $9) and ($10::uuid is null or api_key_id = $10)`;

/** The condition for rows of other tables: those of a group, `$14`, are in `grouped_usage`. */
const withoutGroup = '$14::text is null';
/** The condition for rows of `grouped_usage`. */
const inGroup = `(${withoutGroup} or groups_sha256 = any(array(
  select groups_sha256 from analytics.usage_groups where tenant_id = $4 and folded = lower($14))))`;
/** The condition for single runs. */
const isInGroup = `(${withoutGroup} or exists (
  select from unnest(groups) as known (name) where lower(name) = lower($14)))`;

interface Reading {
  table: string;
  columns: string;
  condition?: string;
  /** The conditions of the filters by provider and group. */
  filter?: string;
}

/** The names of the groups of rows, to join. */
const names = 'analytics.usage_groups using (tenant_id, groups_sha256)';

const byProvider = `${providerCondition} and ${withoutGroup}`;

/** The first parameter for the starts and ends of parts of the period. */
const firstOfParts = 15;

/** The condition for rows in parts of the period, of which `before` others come first among the parameters. */
function inParts(parts: readonly Period[], before = 0): string {
  const numbers = parts.map((_, index) => firstOfParts + 2 * (before + index));
  const ranges = numbers.map((number) => `bucket >= $${number} and bucket < $${number + 1}`);
  return parts.length === 0 ? 'false' : `(${ranges.join(' or ')})`;
}

/** Rows of a roll-up table. */
const rowsOf = (
  source: Source,
  { table, columns, condition = 'true', filter = byProvider }: Reading,
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
  const reading = {
    table: source.byGroup === true ? `settled_usage left join ${names}` : 'settled_usage',
    columns,
    condition: `kind = '${kind}' and ($10::uuid is null or api_key_id = $10)`,
    ...(kind === 'group' && { filter: `${providerCondition} and ${inGroup}` }),
  };
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
  from ${runs} ${source.byGroup === true ? 'left join lateral unnest(groups) as known (name) on true' : ''}
  where called and ended_at >= ${from} and ended_at < ${to} and ${tenantCondition(source)} and ${filters} and ${providerCondition}
    and ${personFilters} and ($6::text is null or coalesce(model, request_model) = $6) and ${isInGroup}`;

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
  /** `grouped_usage` has the runs of a group. */
  table: 'usage' | 'usage_totals' | 'grouped_usage';
  parts: PeriodParts;
  allTenants?: true;
  /** Whether rows have `group_name`: a run has a row for each of its groups, or one without. */
  byGroup?: true;
  /** Whether refused requests are among the rows. */
  withRefused?: true;
}

/** All rows to add up: roll-ups, and single runs. */
export function units(source: Source): string {
  const figures = `${noCode}, ${measures.join(', ')}, 0 as refused`;
  const group = groupColumn(source, 'name');
  return `
  ${rollUps(source).join(' union all ')}
  ${settled(source, `bucket, tenant_id, ${dimensionColumns}, ${personalColumns}, ${figures}${group}`)}
  union all ${singleRuns(source, `${runDimensions}, ${noCode}, ${measuresOfRun.join(', ')}, 0${group}`)}
  ${source.withRefused === true ? `union all ${refusals(source)}` : ''}`;
}

const groupColumn = ({ byGroup }: Source, name: string): string =>
  byGroup === true ? `, ${name} as group_name` : '';

/** The roll-ups to add up. By group, runs without groups are what remains of all runs. */
function rollUps(source: Source): string[] {
  const { table, byGroup } = source;
  const isPersonal = table !== 'usage_totals';
  const personal = isPersonal
    ? personalColumns
    : 'null::text as user_id, null::uuid as api_key_id, null::text as session_id';
  const rows = (from: string, figures: readonly string[], name = 'null'): string => {
    const isGrouped = from.startsWith('grouped_usage');
    return quarters(source, {
      table: from,
      columns: `bucket as at, tenant_id, ${dimensionColumns}, ${personal}, ${noCode}, ${figures.join(', ')}, 0 as refused
        ${groupColumn(source, `${name}::text`)}`,
      ...((isPersonal || isGrouped) && { condition: personFilters }),
      ...(isGrouped && { filter: `${providerCondition} and ${inGroup}` }),
    });
  };
  if (byGroup !== true) return [rows(table, measures)];
  const named = rows(`grouped_usage join ${names}`, measures, 'name');
  if (table === 'grouped_usage') return [named];
  const negated = measures.map((measure) => `-${measure}`);
  return [rows(table, measures), rows('grouped_usage', negated), named];
}

/** Runs are in no group of an error code. */
const noCode = 'null::text as error_code';
const nothing = measures.map(() => '0').join(', ');

/** Refused requests, of the quarters of an hour that begin in the period. They have neither provider nor groups. */
const refusals = (source: Source): string =>
  rowsOf(
    source,
    {
      table: 'refused_usage',
      columns: `bucket, tenant_id, model, agent_id, '' as provider, channel, dialect, client, user_id, api_key_id,
        null::text, code, ${nothing}, refused${groupColumn(source, 'null::text')}`,
      condition: personFilters,
      filter: `$7::text is null and ${withoutGroup}`,
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

/**
 * The condition for rows of `unpriced_models` of a group: it has unpriced runs with the same key. If the groups of the
 * user changed within the quarter of an hour, the models of a fallback may be those of another such run.
 */
const unpricedInGroup = ({ parts: { others } }: Source): string => `(${withoutGroup} or exists (
  select from analytics.grouped_usage as known
  where ${inParts(others)} and ${inGroup} and unpriced_requests > 0
    and ${sameUnpricedKey('known', 'unpriced_models')}))`;

/** The models of attempts without a price. */
export const unpricedModels = (source: Source): string => `
  ${quarters(source, {
    table: 'unpriced_models',
    columns: 'unpriced_model',
    condition: personFilters,
    filter: `${providerCondition} and ${unpricedInGroup(source)}`,
  })}
  ${settled(source, 'unnest(unpriced_models)')}
  union all
  select unnest(unpriced_models) from (${singleRuns(source, 'unpriced_models')}) as runs where unpriced_models is not null`;

/** The groups of the table `usage` only. */
const personalGroups: ReadonlySet<Dimension> = new Set(['user', 'api_key', 'session']);

/** Whether only the table `usage` has what the groups and the filter need. */
function isPersonal(groupBy: readonly Dimension[], { user, apiKeyId }: UsageFilter): boolean {
  return user !== null || apiKeyId !== null || groupBy.some((dimension) => personalGroups.has(dimension));
}

function tableFor({ groupBy, filter, figures }: SummaryRequest): Source['table'] {
  if (filter.group !== null) return 'grouped_usage';
  // Runs without groups have users, to subtract those of others.
  const needsUsers = groupBy.includes('group') && figures !== 'costs';
  return needsUsers || isPersonal(groupBy, filter) ? 'usage' : 'usage_totals';
}

/** Whether groups are added up from other rows than totals, which need fewer, and a run of two groups once. */
export function readsOtherRows(request: SummaryRequest): boolean {
  const totals = { ...request, groupBy: [] };
  return (
    request.groupBy.includes('group') ||
    tableFor(request) !== tableFor(totals) ||
    kindFor(request) !== kindFor(totals)
  );
}

/** The tables for a request. */
export function sourceOf(request: SummaryRequest, parts: PeriodParts): Source {
  const { groupBy, allTenants, figures, withRefused = figures !== 'costs' } = request;
  return {
    table: tableFor(request),
    parts,
    ...(allTenants && { allTenants }),
    ...(groupBy.includes('group') && { byGroup: true as const }),
    ...(withRefused && { withRefused }),
  };
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

/** The values of `$1` to `$14`, the starts and ends of the parts of the period, and those of `firstKeys`. */
export function summaryValues(
  tenantId: string | null,
  { period, filter, timezone, firstKeys }: SummaryRequest,
  { others, settled: days }: PeriodParts,
): unknown[] {
  const inner = innerBuckets(period);
  return [
    ...[period.from, period.to, timezone, tenantId],
    ...[filter.agentId, filter.model, filter.provider, filter.channel, filter.user, filter.apiKeyId],
    ...[inner.from, inner.to, filter.dialect, filter.group],
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
  // Runs without groups are what remains of all: of other values nothing does.
  const having = groupBy.includes('group') ? 'having sum(requests) > 0 or sum(refused) > 0' : '';
  return `select ${[...by, ...(folds === undefined ? [] : [folds])].join(', ')} from (${rows}) as rows where ${condition}
    ${by.length === 0 ? '' : `group by ${places} ${having}`}`;
}
