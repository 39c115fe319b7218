import type { DeadLetter } from '@gatehouse/events/dead-letters';
import type { RunEnded, RunStarted } from '@gatehouse/events/run-event';
import type { Watermark } from '@gatehouse/events/watermark';
import { cacheKey } from '@gatehouse/kit/cache-key';
import type { Pool } from '@gatehouse/pg/pool';
import { lateAfterDays, withoutTexts } from '../retention/trace-ages.ts';
import { unpricedModelsOf } from '../usage/unpriced-models.ts';
import type { StoredSpan } from './trace-store.ts';
import { dimensions, measures, measuresOfRun, personalDimensions } from './usage-columns.ts';

/** The events that one transaction stores. At most one event per run: its end, if there is one. */
export interface Intake {
  runs: readonly (RunStarted | RunEnded)[];
  watermarks: readonly (Watermark & { source: string })[];
}

const columns = `operation, channel, request_id, trace_id, span_id, api_key_id, user_id, session_id, agent_id,
  request_model, streamed, input_preview, started_at, ended_at, duration_ms, time_to_first_token_ms, provider, model,
  response_model, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, tool_calls,
  cost_pico, priced, usage_estimated, error_type, error_message, output_preview, spans, called, unpriced_models`;

/** The columns that only the end of a run sets. */
const endColumns = [
  'status',
  'ended_at',
  'duration_ms',
  'time_to_first_token_ms',
  'provider',
  'model',
  'response_model',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'tool_calls',
  'cost_pico',
  'priced',
  'usage_estimated',
  'error_type',
  'error_message',
  'output_preview',
  'spans',
  'called',
  'unpriced_models',
];

/** The runs in `$1`, which is JSON. */
const input = `
  select run_id as id, tenant_id, coalesce(status, 'running') as status, ${columns},
         run_id < analytics.first_id_at(now() - interval '${lateAfterDays} days') as late
  from json_to_recordset($1::json) as i (
    run_id uuid, tenant_id uuid, status text, operation text, channel text, request_id text, trace_id text,
    span_id text, api_key_id uuid, user_id text, session_id text, agent_id uuid, request_model text,
    streamed boolean, input_preview text, started_at timestamptz, ended_at timestamptz, duration_ms integer,
    time_to_first_token_ms integer, provider text, model text, response_model text, input_tokens bigint,
    cached_input_tokens bigint, cache_write_tokens bigint, output_tokens bigint, reasoning_tokens bigint,
    tool_calls integer, cost_pico numeric, priced boolean, usage_estimated boolean, error_type text,
    error_message text, output_preview text, spans json, called boolean, unpriced_models text[])`;

/** Updates the row of a run to its end, once. */
const change = (end: string): string => `
  change_transaction = pg_current_xact_id(), change_number = nextval('analytics.changes'), changed_at = now(),
  ${endColumns.map((column) => `${column} = ${end}.${column}`).join(', ')}`;

/** The values that a newly written row of `traces` adds to the roll-ups. */
const counted = `
  traces.tenant_id, traces.status, traces.ended_at, traces.agent_id,
  coalesce(traces.model, traces.request_model) as model, coalesce(traces.provider, '') as provider, traces.channel,
  traces.user_id, traces.api_key_id, traces.duration_ms, traces.input_tokens, traces.cached_input_tokens,
  traces.output_tokens, traces.reasoning_tokens, traces.tool_calls, traces.cost_pico,
  traces.priced, traces.usage_estimated, traces.called, traces.unpriced_models`;

const totalsKey = ['tenant_id', 'bucket', ...dimensions].join(', ');
const usageKey = [totalsKey, ...personalDimensions].join(', ');

/** Adds the rows of `ended` to a roll-up table with one row per key. */
const addUp = (table: string, key: string): string => `
  insert into analytics.${table} (${key}, ${measures.join(', ')})
  select ${key}, ${measuresOfRun.map((share) => `sum(${share})`).join(', ')}
  from ended
  group by ${key}
  order by ${key}
  on conflict (${key}) do update set
    ${measures.map((column) => `${column} = ${table}.${column} + excluded.${column}`).join(', ')}`;

/** Adds the rows that `stored` returned to all roll-ups. */
const counting = `
  ended as (
    select tenant_id, date_bin('15 minutes', ended_at, 'epoch') as bucket, status, agent_id, model, provider, channel,
           user_id, api_key_id, duration_ms, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens,
           tool_calls, cost_pico, priced, usage_estimated, unpriced_models
    from stored where called
  ), added as (${addUp('usage', usageKey)}),
  added_totals as (${addUp('usage_totals', totalsKey)}),
  added_unpriced as (
    insert into analytics.unpriced_models (${usageKey}, unpriced_model)
    select distinct ${usageKey}, unpriced_model from ended, unnest(unpriced_models) as unpriced_model
    order by ${usageKey}, unpriced_model
    on conflict do nothing
  ),
  added_users as (
    insert into analytics.usage_users (${totalsKey}, chunk, users)
    select ${totalsKey}, number / 1024, bit_or(analytics.user_bit(number))
    from (
      select ${totalsKey},
             -- Asked for one by one: no cached plan may come to read all users there are.
             (select number from analytics.users
              where users.tenant_id = ended.tenant_id and users.user_id = ended.user_id) as number
      from ended where user_id is not null
    ) as numbered
    where number is not null
    group by ${totalsKey}, number / 1024
    order by ${totalsKey}, number / 1024
    on conflict (${totalsKey}, chunk) do update set users = usage_users.users | excluded.users
    where usage_users.users & excluded.users <> excluded.users
  )`;

/**
 * Assigns numbers to users without one. When two replicas number the same user at once, the first number stays. Call it
 * before storing runs of these users.
 */
export async function numberUsers(pool: Pool, runs: readonly (RunStarted | RunEnded)[]): Promise<void> {
  const ofUsers = runs.filter((run) => run.user_id !== null);
  // One run per user is enough.
  const users = [...new Map(ofUsers.map((run) => [cacheKey(run.tenant_id, run.user_id), run])).values()];
  if (users.length === 0) return;
  await pool.query({
    name: 'number_users',
    text: `
      with unknown as (
        select tenant_id, user_id from unnest($1::uuid[], $2::text[]) as wanted (tenant_id, user_id)
        where (select number from analytics.users
               where users.tenant_id = wanted.tenant_id and users.user_id = wanted.user_id) is null
      ), counted as (
        insert into analytics.user_counters as counter (tenant_id, taken)
        select tenant_id, count(*) from unknown group by tenant_id order by tenant_id
        on conflict (tenant_id) do update set taken = counter.taken + excluded.taken
        returning tenant_id, taken
      )
      insert into analytics.users (tenant_id, user_id, number)
      select tenant_id, user_id, taken - row_number() over (partition by tenant_id order by user_id)
      from unknown join counted using (tenant_id) order by tenant_id, user_id
      on conflict do nothing`,
    values: [users.map((run) => run.tenant_id), users.map((run) => run.user_id)],
  });
}

/** The spans of a run in the order of their start. */
function spansOf({ recall, spans, tools = [] }: RunEnded): StoredSpan[] {
  const search = recall === undefined ? [] : [{ kind: 'memory' as const, ...recall }];
  if (tools.length === 0) return [...search, ...spans];
  const calls = [...spans, ...tools.map((tool) => ({ kind: 'tool' as const, ...tool }))];
  return [...search, ...calls.toSorted((a, b) => (a.offset_ms ?? 0) - (b.offset_ms ?? 0))];
}

/** Runs as JSON. Ended runs include whether there was an attempt, and the models of attempts without a price. */
function toJson(runs: Intake['runs']): string {
  return JSON.stringify(
    runs.map((run) =>
      'spans' in run
        ? {
            ...run,
            spans: spansOf(run),
            called: run.spans.some(({ status }) => status !== 'not_sent'),
            unpriced_models: unpricedModelsOf(run),
          }
        : run,
    ),
  );
}

/**
 * Stores starts and ends of runs and adds the ends to the roll-ups, in one statement, which is one transaction. Safe to
 * repeat and in any order: a start never replaces an end, and only the first end of a run is stored and counted. Rows
 * are written in the order of their keys, so that replicas don't deadlock.
 *
 * Returns the ids of late runs (`lateAfterDays`), which it does not store. Then it stores no watermarks either, because
 * a watermark must not precede its runs.
 */
export async function insertIntake(pool: Pool, intake: Intake): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'insert_intake',
    text: `
      with input as (${input}),
      stored as (
        insert into analytics.traces (id, tenant_id, status, ${columns})
        select id, tenant_id, status, ${columns} from input where not late order by id
        on conflict (id) do update set ${change('excluded')}
        where traces.ended_at is null and excluded.ended_at is not null
        returning ${counted}
      ), ${counting}, marked as (
        insert into analytics.watermarks (source, partition, partitions, watermark)
        select source, partition, partitions, watermark
        from json_to_recordset($2::json) as w (source text, partition integer, partitions integer, watermark timestamptz)
        where not exists (select from input where late)
        order by source, partition
        on conflict (source, partition) do update set
          partitions = excluded.partitions, watermark = greatest(watermarks.watermark, excluded.watermark)
      )
      select id from input where late`,
    values: [toJson(intake.runs), JSON.stringify(intake.watermarks)],
  });
  return rows.map(({ id }) => id);
}

/**
 * Ends and counts late runs whose row still exists, without their texts. Returns the ids of those without a row: they
 * may have been counted and deleted. Creates no row, so that one that is deleted at the same time stays deleted.
 */
export async function endLateRuns(pool: Pool, runs: Intake['runs']): Promise<string[]> {
  // Not a prepared statement, so that PostgreSQL plans for these ids and reads only their partitions.
  const { rows } = await pool.query<{ id: string }>(
    `with input as (${input}),
     stored as (
       update analytics.traces set ${change('input')}
       from input
       where traces.id = input.id and traces.id = any($2::uuid[]) and traces.ended_at is null
         and input.ended_at is not null
       returning ${counted}
     ), ${counting}
     select id from input where not exists (
       select from analytics.traces where traces.id = input.id and traces.id = any($2::uuid[]))`,
    [toJson(runs.map(withoutTexts)), runs.map((run) => run.run_id)],
  );
  return rows.map(({ id }) => id);
}

/** Stores an event that could not be stored as a run, once. */
export async function insertDeadLetter(pool: Pool, letter: DeadLetter): Promise<void> {
  await pool.query({
    name: 'insert_dead_letter',
    text: `insert into analytics.dead_letters (id, origin, reason, payload) values ($1, $2, $3, $4)
           on conflict do nothing`,
    values: [letter.id, letter.origin, letter.reason, letter.payload],
  });
}

/**
 * Creates the partition of a month; `month` is its first day, `2026-11-01`. Fails after half a second while another
 * transaction uses the table of traces, such as a backup.
 */
export async function ensurePartition(pool: Pool, month: string): Promise<void> {
  await pool.query('select analytics.ensure_partition($1::date)', [month]);
}

/** Whether the partition of a month exists. */
export async function hasPartition(pool: Pool, month: string): Promise<boolean> {
  const { rows } = await pool.query<{ present: boolean }>(
    `select to_regclass('analytics.traces_' || to_char($1::date, 'YYYY_MM')) is not null as present`,
    [month],
  );
  return rows[0]?.present ?? false;
}
