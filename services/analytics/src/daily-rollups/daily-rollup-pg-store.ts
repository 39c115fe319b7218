import { settledKinds, type SettledKind } from '../usage/period-parts.ts';
import { measures, sameUnpricedKey, unpricedKey } from '../usage/measure-pg-store.ts';

/** The columns of all kinds, which are null in rows of other kinds. */
const columns = [...new Set(Object.values(settledKinds).flat())];
const listed = columns.join(', ');

/** Groups rows once for each of `kinds`, by the columns of the kind and by `more`. */
function byKind(kinds: readonly SettledKind[], more: string, rows: string): string {
  const sets = kinds.map((kind) => {
    const keyColumns = [kind === 'hour' ? 'hour' : 'start', ...settledKinds[kind], more];
    return `(${keyColumns.filter((column) => column !== '').join(', ')})`;
  });
  return `from (${rows}) as rows group by grouping sets (${sets.join(', ')})`;
}

/**
 * The kind of a row grouped by `byKind`: the last of `kinds` with its own first column among the row's, else the first,
 * `hour`.
 */
const kindOf = ([first, ...others]: readonly SettledKind[]): string => {
  const cases = others
    .toReversed()
    .map((kind) => `when grouping(${settledKinds[kind][0]}) = 0 then '${kind}'`);
  return `case ${cases.join(' ')} else '${first ?? ''}' end`;
};

const rowsOf = (table: string, selectList: string): string => `
  select date_bin('1 hour', bucket, 'epoch') as hour, case when bucket < $4 then $2 else $4 end as start, ${selectList}
  from analytics.${table} where tenant_id = $1 and bucket >= $2 and bucket < $3`;

/** All kinds of rows. */
export const allKinds = Object.keys(settledKinds) as SettledKind[];
/** The kinds of rows from `usage` alone. */
const plainKinds = allKinds.filter((kind) => kind !== 'group');
/** The kinds of rows with sets of users. */
const kindsWithUsers: readonly SettledKind[] = ['hour', 'agent'];
/** The kinds for totals. */
const kindsWithModels = plainKinds.filter((kind) => kind !== 'session');
const nothing = measures.map(() => '0').join(', ');

/** The types of columns, besides text. */
const types: Readonly<Record<string, string>> = {
  agent_id: 'uuid',
  api_key_id: 'uuid',
  groups_sha256: 'bytea',
};

/** The columns of some kinds, and null for those of others. */
function listedFor(kinds: readonly SettledKind[]): string {
  const groupColumns = new Set<string>(kinds.flatMap((kind) => settledKinds[kind]));
  const selectList = columns.map((column) =>
    groupColumns.has(column) ? column : `null::${types[column] ?? 'text'} as ${column}`,
  );
  return selectList.join(', ');
}

/** The same without nulls. */
const columnsOf = (kinds: readonly SettledKind[]): string =>
  [...new Set(kinds.flatMap((kind) => settledKinds[kind]))].join(', ');

/** The condition for days of the tenant `$1` with groups. */
export const hasGroups = (time: string): string => `exists (
  select from analytics.grouped_usage
  where tenant_id = $1 and bucket >= date_bin('1 day', ${time}::timestamptz, 'epoch')
    and bucket < date_bin('1 day', ${time}::timestamptz, 'epoch') + interval '1 day')`;

const keysOfGroups = columnsOf(['group']);
const keysOfUsage = keysOfGroups.replace('groups_sha256', 'null::bytea as groups_sha256');

/** The rows of the kind `group`, and their models without a price. Runs without groups are what remains of all. */
const groupRows = `
  select 'group', null::timestamptz, start, ${listedFor(['group'])}, ${measures.map((measure) => `sum(${measure})`).join(', ')},
         null::text, null::integer, null::bit(1024)
  from (
    ${rowsOf('usage', `${keysOfUsage}, ${measures.join(', ')}`)}
    union all ${rowsOf('grouped_usage', `${keysOfUsage}, ${measures.map((measure) => `-${measure}`).join(', ')}`)}
    union all ${rowsOf('grouped_usage', `${keysOfGroups}, ${measures.join(', ')}`)}
  ) as rows
  where ${hasGroups('$2')}
  group by start, ${keysOfGroups} having sum(requests) <> 0
  union all
  select distinct 'group', null::timestamptz, start, ${listedFor(['group'])}, ${nothing}, unpriced_model, null::integer, null::bit(1024)
  from (
    select own.start, ${keysOfGroups.replaceAll(/\w+/g, 'own.$&')}, unpriced_model
    from (${rowsOf('grouped_usage', `${unpricedKey}, groups_sha256`)} and unpriced_requests > 0) as own
      -- Each is looked up in an index, however few rows PostgreSQL expects.
      cross join lateral (
        select unpriced_model from analytics.unpriced_models
        where ${sameUnpricedKey('own', 'unpriced_models')} offset 0) as unpriced
  ) as rows`;

/**
 * Adds up the roll-ups of the tenant `$1` from `$2` to `$3`, whole hours of a day. Sums, users and models without a
 * price come from a union: a join would not match null columns. Rows of other kinds than `hour` end at `$4`. PostgreSQL
 * adds everything up before it writes the first row, so for most of its time the transaction has no number, and holds
 * back no reader of `follow`.
 */
export const addUp = `
  insert into analytics.settled_usage (tenant_id, kind, bucket, ${listed}, ${measures.join(', ')}, unpriced_models, chunks, users)
  select $1, kind, coalesce(hour, start), ${listed}, ${measures.map((measure) => `sum(${measure})`).join(', ')},
         array_agg(unpriced_model) filter (where unpriced_model is not null),
         array_agg(chunk order by chunk) filter (where chunk is not null),
         array_agg(users order by chunk) filter (where chunk is not null)
  from (
    select ${kindOf(plainKinds)} as kind, hour, start, ${listedFor(plainKinds)}, ${measures.map((measure) => `sum(${measure}) as ${measure}`).join(', ')},
           null::text as unpriced_model, null::integer as chunk, null::bit(1024) as users
    ${byKind(plainKinds, '', rowsOf('usage', `${columnsOf(plainKinds)}, ${measures.join(', ')}`))}
    union all
    select ${kindOf(kindsWithModels)}, hour, start, ${listedFor(kindsWithModels)}, ${nothing}, unpriced_model, null, null
    ${byKind(kindsWithModels, 'unpriced_model', rowsOf('unpriced_models', `${columnsOf(kindsWithModels)}, unpriced_model`))}
    union all
    select ${kindOf(kindsWithUsers)}, hour, start, ${listedFor(kindsWithUsers)}, ${nothing}, null, chunk, bit_or(users)
    ${byKind(kindsWithUsers, 'chunk', rowsOf('usage_users', `${columnsOf(kindsWithUsers)}, chunk, users`))}
    union all ${groupRows}
  ) as parts
  group by kind, hour, start, ${listed}`;
