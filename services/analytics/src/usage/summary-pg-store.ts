import type { Dimension } from '@gatehouse/contract/usage';
import { pageBytes } from '@gatehouse/kit/page';
import { costMeasures } from './cost-export.ts';
import { labels, spansOf, startsClause } from './key-pg-store.ts';
import type { PeriodParts } from './period-parts.ts';
import {
  grouped,
  hasFirstKey,
  sets,
  sourceOf,
  sumsOf,
  unfoldedClause,
  units,
  unpricedModels,
} from './row-pg-store.ts';
import type { Figures, SummaryRequest } from './summary.ts';
import { measures, type Figure } from './measure-pg-store.ts';

const [requests, ...amounts] = costMeasures;
const usageMeasures: readonly Figure[] = [
  ...measures.filter((measure) => !amounts.some((amount) => amount === measure)),
  'refused',
];

/** The measures of totals and of groups. Adding up an amount takes several times as long as adding up a count. */
const measuresOf: Record<Figures | 'all', Record<'totals' | 'groups', readonly Figure[]>> = {
  usage: { totals: usageMeasures, groups: usageMeasures },
  costs: { totals: costMeasures, groups: [requests, 'cost_pico', 'unpriced_requests'] },
  all: { totals: [...measures, 'refused'], groups: [...measures, 'refused'] },
};

export interface Shows {
  totals: boolean;
  /** The most groups, in their order. */
  groups: number;
}

/**
 * The statement of a summary. Its row without labels is the total, the other rows are the groups. `found` is the number of
 * groups, of which those after `pageBytes` of labels are left out.
 */
export function summaryStatement(request: SummaryRequest, parts: PeriodParts, shows: Shows): string {
  const { groupBy, figures = 'all' } = request;
  const measures = measuresOf[figures][shows.totals ? 'totals' : 'groups'];
  const source = sourceOf(request, parts);
  const users = figures === 'costs' ? noUsers : usersOf(groupBy, source.table !== 'usage_totals');
  const condition = hasFirstKey(request, parts);
  const sums = {
    folds: sumsOf(measures),
    rows: units(source),
    condition,
    ...(users === listedUsers && { columns: ['tenant_id', 'user_id'] }),
  };
  const clauses = [unfoldedClause(request), `sums as (${grouped(groupBy, sums)})`];
  if (users === setsOfUsers) {
    const people = {
      columns: ['tenant_id', 'chunk'],
      folds: 'bit_or(users) as users',
      rows: sets(source),
      condition,
    };
    clauses.push(`people as (${grouped(groupBy, people)})`);
  }
  const total = `
    (select null::text[] as labels, ${sumsOf(measures)}, (${users.inAll}) as unique_users, null::bigint as found,
            (select array_agg(distinct unpriced_model order by unpriced_model)
             from (${unpricedModels(source)}) as unpriced) as unpriced_models,
            (${asOf}) as as_of
     from sums)`;
  const rows = [
    ...(shows.totals ? [total] : []),
    ...(shows.groups > 0 ? [groupRows(groupBy, { measures, users, most: shows.groups })] : []),
  ];
  return `with ${spansOf(groupBy).map(startsClause).join('')} ${clauses.join(', ')} ${rows.join(' union all ')}`;
}

/** Users whose requests were all refused have no run: they are no unique users. */
const hasRuns = 'requests > 0';

/** The users of rows of sums: their number in all of them, and the groups of sums with their numbers of users. */
interface Users {
  inAll: string;
  groupRows: (keys: readonly string[], measures: readonly Figure[]) => string;
}

const noUsers: Users = {
  inAll: '0',
  groupRows: (keys, measures) => `select ${[...keys, ...measures].join(', ')}, 0 as people from sums`,
};

/** Rows of sums have one user each. */
const listedUsers: Users = {
  inAll: `
    select count(*) from (select distinct tenant_id, user_id from sums where user_id is not null and ${hasRuns}) as people`,
  groupRows: (keys, measures) => `
    select ${keys.join(', ')}, ${sumsOf(measures)}, count(user_id) filter (where ${hasRuns}) as people from sums group by ${keys.join(', ')}`,
};

/** A union: a join would not match null keys. */
const setsOfUsers: Users = {
  inAll: `
    select sum(bit_count(users)) from (select bit_or(users) as users from people group by tenant_id, chunk) as chunks`,
  groupRows: (keys, measures) => `
    select ${keys.join(', ')}, ${sumsOf(measures)}, sum(people) as people
    from (
      select ${[...keys, ...measures].join(', ')}, 0 as people from sums
      union all
      select ${keys.join(', ')}, ${measures.map(() => '0').join(', ')}, sum(bit_count(users))
      from people group by ${keys.join(', ')}
    ) as both_kinds
    group by ${keys.join(', ')}`,
};

/** The same where a key of the groups is the user. */
const usersAsKey = (key: string): Users => ({
  inAll: `select count(distinct ${key}) filter (where ${hasRuns}) from sums`,
  groupRows: (keys, measures) =>
    `select ${[...keys, ...measures].join(', ')}, (${key} is not null and ${hasRuns})::integer as people from sums`,
});

function usersOf(groupBy: readonly Dimension[], isPersonal: boolean): Users {
  if (groupBy.includes('user')) return usersAsKey(`k${groupBy.indexOf('user') + 1}`);
  return isPersonal ? listedUsers : setsOfUsers;
}

interface GroupRows {
  measures: readonly Figure[];
  users: Users;
  most: number;
}

function groupRows(groupBy: readonly Dimension[], { measures, users, most }: GroupRows): string {
  const names = groupBy.map((_, index) => `k${index + 1}`);
  const list = names.join(', ');
  const texts = groupBy.map((dimension, index) => labels[dimension](names[index] ?? '')).join(', ');
  return `
    (select labels, ${measures.join(', ')}, people as unique_users, found, null::text[] as unpriced_models,
            null::timestamptz as as_of
     from (
       select labelled.*, count(*) over () as found,
              sum(octet_length(labels::text))
                over (order by ${list} rows between unbounded preceding and 1 preceding) as bytes_before
       from (
         select first.*, array[${texts}]::text[] as labels
         from (${users.groupRows(names, measures)} order by ${list} limit ${most}) as first
       ) as labelled
     ) as bounded
     -- Labels are shorter than the JSON that is made of them, so that the answer leaves out the last one of these.
     where coalesce(bytes_before, 0) < ${pageBytes}
     order by ${list})`;
}

/** The lowest watermark; null until every partition of every source has one. */
export const asOf = `
  select case when bool_and(complete) then min(least) end from (
    select count(*) = max(partitions) as complete, min(watermark) as least
    from analytics.watermarks group by source) as sources`;
