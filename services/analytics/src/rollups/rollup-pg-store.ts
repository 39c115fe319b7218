import {
  countedColumns,
  groupedKey,
  digestOfGroups,
  measures,
  measuresOfRun,
  totalsKey,
  unpricedKey,
  usageKey,
} from '../usage/measure-pg-store.ts';

/** The counted columns of a row of `traces`. */
const countedOfTrace = countedColumns
  .replace('bucket', `date_bin('15 minutes', ended_at, 'epoch') as bucket`)
  .replace('model,', 'coalesce(model, request_model) as model,')
  .replace('provider,', `coalesce(provider, '') as provider,`);

/** Adds `rows` to a roll-up table with one row per key, or subtracts them. */
const addUp = (table: string, key: string, rows: string, sign: '' | '-'): string => `
  insert into analytics.${table} (${key}, ${measures.join(', ')})
  select ${key}, ${measuresOfRun.map((share) => `${sign}sum(${share})`).join(', ')}
  from ${rows}
  group by ${key}
  order by ${key}
  on conflict (${key}) do update set
    ${measures.map((column) => `${column} = ${table}.${column} + excluded.${column}`).join(', ')}`;

/** The runs of `rows` with groups, and the digest of these. */
const withGroups = (rows: string): string =>
  `(select ${countedColumns}, ${digestOfGroups} as groups_sha256 from ${rows} where groups <> '{}') as grouped`;

/** Clauses to subtract the runs of `rows`, which have the columns of `countedColumns`. */
export const subtracting = (rows: string): string => `
  subtracted_groups as (${addUp('grouped_usage', groupedKey, withGroups(rows), '-')}),
  subtracted as (${addUp('usage', usageKey, rows, '-')}),
  subtracted_totals as (${addUp('usage_totals', totalsKey, rows, '-')})`;

/** The statement to add the runs of the fold `$1` to all roll-ups. Returns their number. */
export const addFold = `
  with ended as materialized (
    select ${countedOfTrace} from analytics.traces where fold = $1 and called
  ), added as (${addUp('usage', usageKey, 'ended', '')}),
  added_totals as (${addUp('usage_totals', totalsKey, 'ended', '')}),
  added_groups as (
    insert into analytics.usage_groups (tenant_id, groups_sha256, name)
    select distinct tenant_id, groups_sha256, name from ${withGroups('ended')}, unnest(groups) as name
    order by tenant_id, groups_sha256, name
    on conflict do nothing
  ),
  added_grouped as (${addUp('grouped_usage', groupedKey, withGroups('ended'), '')}),
  added_unpriced as (
    insert into analytics.unpriced_models (${unpricedKey}, unpriced_model)
    select distinct ${unpricedKey}, unpriced_model from ended, unnest(unpriced_models) as unpriced_model
    order by ${unpricedKey}, unpriced_model
    on conflict do nothing
  ),
  added_users as (
    insert into analytics.usage_users (${totalsKey}, chunk, users)
    select ${totalsKey}, number / 1024, bit_or(analytics.user_bit(number))
    from (
      select ${totalsKey},
             -- Asked for one by one: no cached plan may come to read all users there are.
             (select number from analytics.users
              where users.tenant_id = known.tenant_id and users.user_id = known.user_id) as number
      from (select distinct ${totalsKey}, user_id from ended where user_id is not null) as known
    ) as numbered
    where number is not null
    group by ${totalsKey}, number / 1024
    order by ${totalsKey}, number / 1024
    on conflict (${totalsKey}, chunk) do update set users = usage_users.users | excluded.users
    where usage_users.users & excluded.users <> excluded.users
  )
  select count(*)::integer as runs from ended`;
