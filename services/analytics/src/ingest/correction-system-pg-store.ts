import type { RunEnded } from '@gatehouse/events/run-event';
import { only } from '@gatehouse/pg/rows';
import { withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { lateAfterDays, withoutTexts } from '../retention/trace-ages.ts';
import { subtracting } from '../rollups/rollup-pg-store.ts';
import { countedColumns, countsNothing, totalsKey, unpricedKey } from '../usage/measure-pg-store.ts';
import { change, columns, input, inputValues } from './ingest-pg-store.ts';

/** The rows of `$n`, as `findReplaced` returns them. */
const replaced = (parameter: string): string => `
  select ${countedColumns.replace('bucket', `date_bin('15 minutes', ended_at, 'epoch') as bucket`)}
  from json_to_recordset(${parameter}::json) as r (
    tenant_id uuid, status text, ended_at timestamptz, agent_id uuid, model text, provider text, channel text,
    dialect text, client text, user_id text, api_key_id uuid, session_id text, duration_ms integer, input_tokens bigint, cached_input_tokens bigint,
    output_tokens bigint, reasoning_tokens bigint, tool_calls integer, cost_pico numeric, priced boolean,
    usage_estimated boolean, unpriced_models text[], own_key boolean, groups text[])`;

/**
 * Replaces estimated ends. Subtracts a replaced end from its roll-ups, and locks them, since corrections are rare: no
 * replica adds a fold meanwhile, so the subtraction is complete.
 */
export async function correctEnds(pool: Pool, runs: readonly RunEnded[]): Promise<string[]> {
  return withTransaction(pool, async (db) => {
    await db.query(`select set_config('gatehouse.folds', 'on', true)`);
    await db.query('lock table analytics.usage_totals in share row exclusive mode');
    const ids = runs.map((run) => run.run_id);
    const { known, rows, firstId } = await findReplaced(db, ids);
    const isLate = (run: RunEnded): boolean => run.run_id < firstId;
    const lost = runs.filter((run) => isLate(run) && !known.has(run.run_id));
    const ends = runs
      .filter((run) => !lost.includes(run))
      .map((run) => (isLate(run) ? withoutTexts(run) : run));
    await replaceEnds(db, ends, rows);
    await removeUncounted(db, rows);
    return lost.map((run) => run.run_id);
  });
}

/**
 * Locks the rows of these runs. `rows` is JSON of their estimated ends in the roll-ups; no number in it is parsed here,
 * because it may exceed the integers of JavaScript.
 */
async function findReplaced(
  db: Queryable,
  ids: readonly string[],
): Promise<{ known: ReadonlySet<string>; rows: string; firstId: string }> {
  const result = await db.all<{ id: string; counted: string | null }>(
    `select id, case when called and not corrected and not coalesce(fold > folded_to, false) then json_build_object(
              'tenant_id', tenant_id, 'status', status, 'ended_at', ended_at, 'agent_id', agent_id,
              'model', coalesce(model, request_model), 'provider', coalesce(provider, ''), 'channel', channel,
              'dialect', dialect, 'client', client, 'user_id', user_id, 'api_key_id', api_key_id,
              'session_id', session_id, 'duration_ms', duration_ms, 'input_tokens', input_tokens,
              'cached_input_tokens', cached_input_tokens, 'output_tokens', output_tokens,
              'reasoning_tokens', reasoning_tokens, 'tool_calls', tool_calls, 'cost_pico', cost_pico,
              'priced', priced, 'usage_estimated', usage_estimated, 'unpriced_models', unpriced_models,
              'own_key', own_key, 'groups', groups)::text
            end as counted
     from analytics.traces, (select folded_to from analytics.folds) as folds
     where id = any($1::uuid[]) order by id for update of traces`,
    [ids],
  );
  const first = await db.query<{ id: string }>(
    `select analytics.first_id_at(now() - interval '${lateAfterDays} days') as id`,
  );
  return {
    known: new Set(result.map(({ id }) => id)),
    rows: `[${result.flatMap((row) => row.counted ?? []).join(',')}]`,
    firstId: only(first).id,
  };
}

async function replaceEnds(db: Queryable, runs: readonly RunEnded[], rows: string): Promise<void> {
  await db.query(
    `with ${input(2)}, replaced as (${replaced('$1')}),
     stored as (
       insert into analytics.traces (id, tenant_id, corrected, status, ${columns})
       select id, tenant_id, true, status, ${columns} from input order by id
       on conflict (id) do update set ${change('excluded')}, corrected = true
       where not traces.corrected
     ), ${subtracting('replaced')}
     select`,
    [rows, ...inputValues(runs)],
  );
}

const sameKey = (key: string, one: string, other: string): string =>
  key
    .split(', ')
    .map((column) => `${one}.${column} is not distinct from ${other}.${column}`)
    .join(' and ');

/** Removes from the roll-ups what only the replaced ends had put there: users, unpriced models, and whole rows. */
async function removeUncounted(db: Queryable, rows: string): Promise<void> {
  if (rows === '[]') return;
  const withReplaced = `with replaced as (${replaced('$1')})`;
  const places = `${withReplaced},
    places as (select array_agg(distinct tenant_id) as tenants, array_agg(distinct bucket) as buckets from replaced)`;
  const inPlaces = `tenant_id = any (array (select unnest(tenants) from places))
    and bucket = any (array (select unnest(buckets) from places))`;
  await db.query(
    `${places}, emptied as (
       delete from analytics.usage_totals where ${inPlaces} and ${countsNothing}
     ), emptied_groups as (
       delete from analytics.grouped_usage where ${inPlaces} and ${countsNothing}
     ) delete from analytics.usage where ${inPlaces} and ${countsNothing}`,
    [rows],
  );
  await db.query(
    `${withReplaced}, gone as (
       select ${totalsKey}, number / 1024 as chunk, bit_or(analytics.user_bit(number)) as users
       from (
         select distinct ${totalsKey},
                (select number from analytics.users
                 where users.tenant_id = replaced.tenant_id and users.user_id = replaced.user_id) as number
         from replaced
         where user_id is not null and not exists (
           select from analytics.usage
           where usage.tenant_id = replaced.tenant_id and usage.bucket = replaced.bucket
             and usage.user_id = replaced.user_id and ${sameKey(totalsKey, 'usage', 'replaced')})
       ) as numbered
       where number is not null group by ${totalsKey}, number / 1024
     )
     update analytics.usage_users as kept set users = kept.users & ~gone.users
     from gone
     where kept.tenant_id = gone.tenant_id and kept.bucket = gone.bucket and kept.chunk = gone.chunk
       and ${sameKey(totalsKey, 'kept', 'gone')}`,
    [rows],
  );
  await db.query(
    `${places}, emptied as (
       delete from analytics.usage_users where ${inPlaces} and bit_count(users) = 0
     ), gone as (
       select distinct ${unpricedKey}, unpriced_model from replaced, unnest(unpriced_models) as unpriced_model
     )
     delete from analytics.unpriced_models as kept using gone
     where kept.tenant_id = any (array (select unnest(tenants) from places))
       and kept.bucket = any (array (select unnest(buckets) from places)) and kept.tenant_id = gone.tenant_id and kept.bucket = gone.bucket and kept.model = gone.model
       and kept.unpriced_model = gone.unpriced_model and ${sameKey(unpricedKey, 'kept', 'gone')}
       and not exists (
         select from analytics.traces run
         where run.tenant_id = gone.tenant_id and run.ended_at >= gone.bucket
           and run.ended_at < gone.bucket + interval '15 minutes' and run.unpriced_models is not null and run.called
           and run.unpriced_models @> array[gone.unpriced_model]
           and coalesce(run.model, run.request_model) = gone.model and coalesce(run.provider, '') = gone.provider
           and run.channel = gone.channel and run.agent_id is not distinct from gone.agent_id
           and run.dialect is not distinct from gone.dialect and run.client is not distinct from gone.client
           and run.user_id is not distinct from gone.user_id and run.api_key_id is not distinct from gone.api_key_id)`,
    [rows],
  );
}
