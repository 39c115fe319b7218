import { AppError } from '@gatehouse/kit/errors';
import { isDatabaseOutage, wrapDatabaseError } from '@gatehouse/pg/errors';
import type { Pool } from '@gatehouse/pg/pool';
import { toPgText } from '@gatehouse/pg/text';
import type { AttemptEnd, AttemptStart, RunEnd, RunIdentity } from '../domain/run.ts';

/** Event types on `gatehouse.usage.v1` (architecture decision 5). */
const runStarted = 'gatehouse.run.started';
const runEnded = 'gatehouse.run.ended';

/*
 * How statements here name their rows is chosen for the planner, whose plans are made while the tables are small and
 * then cached. `id = any(ids)` beside the join makes it look the ids up, where it would hash the whole table along its
 * key; `ended_at is null`, which means the status 'started', keeps it off the reaper's index of started runs, which
 * holds the busiest table's dead entries. Measured over 30,000 runs: 0.3 ms for 47 ends, 19 ms without.
 */

/** One provider call about to be made; the first of a run brings the run along. */
export interface StartRow {
  run: RunIdentity;
  attempt: AttemptStart;
  /** The attempt before this one, which just failed. */
  previous: AttemptEnd | null;
}

export interface EndRow {
  run: RunIdentity;
  end: RunEnd;
  attempts: readonly (AttemptStart & AttemptEnd)[];
}

/** The run or the instance of a start was not there any more, or nothing could be sent: nothing was written. */
export class NothingWrittenError extends AppError {
  constructor(cause?: unknown) {
    super('database_unavailable', 'The request could not be recorded. Try again shortly.', {
      cause,
      headers: { 'retry-after': '1' },
    });
  }
}

export interface WrittenStarts {
  /** False, and nothing was written, when the instance was declared dead meanwhile. */
  alive: boolean;
  /** Attempts that were not written because their run has ended or is another instance's. */
  refused: ReadonlySet<string>;
}

/** A start takes a millisecond; a client should not wait much longer to hear that there is no database. */
const patienceMs = 3_000;

/**
 * Commits the starts of many requests in one statement, which is one transaction. Safe to repeat. The lock on the
 * instance's row keeps it from being declared dead until this is committed, so that whoever reaps it finds everything.
 * Throws `NothingWrittenError` without a connection; after any other error the rows may be there, or may yet come:
 * a server that hung goes on with what it was sent.
 */
export async function insertStarts(
  pool: Pool,
  instanceId: string,
  rows: readonly StartRow[],
): Promise<WrittenStarts> {
  const starts = rows.map(({ run, attempt }) => ({
    ...runColumns(run),
    attempt_id: attempt.id,
    number: attempt.number,
    provider: attempt.provider,
    model: attempt.model,
    upstream_model: attempt.upstreamModel,
    input_tokens_guess: attempt.inputTokensGuess,
  }));
  const ends = rows.flatMap(({ run, previous }) =>
    previous === null ? [] : [attemptColumns(run.id, previous)],
  );
  const row = await queryOnce<{ alive: boolean; refused: string[] }>(pool, {
    name: 'insert_starts',
    query_timeout: patienceMs,
    text: `
      with alive as (
        select id from chat.instances where id = $1 and dead_at is null for share
      ), input as (
        select i.id, i.tenant_id, alive.id as instance_id, i.operation, i.channel, i.request_id, i.trace_id, i.span_id,
               i.api_key_id, i.user_id, i.session_id, i.agent_id, i.request_model, i.streamed, i.input_preview,
               i.charges, i.attempt_id, i.number, i.provider, i.model, i.upstream_model, i.input_tokens_guess
        from alive, json_to_recordset($2::json) as i (
          id uuid, tenant_id uuid, operation text, channel text, request_id text, trace_id text, span_id text,
          api_key_id uuid, user_id text, session_id text, agent_id uuid, request_model text, streamed boolean,
          input_preview text, charges json, attempt_id uuid, number integer, provider text, model text, upstream_model text,
          input_tokens_guess bigint)
      ), refused as (
        select input.attempt_id from input left join chat.runs r
          on r.id = input.id and r.id = any($4::uuid[]) and r.ended_at is null and r.instance_id = input.instance_id
        where input.number > 1 and r.id is null
      ), new_runs as (
        insert into chat.runs (id, tenant_id, instance_id, operation, channel, request_id, trace_id, span_id,
                               api_key_id, user_id, session_id, agent_id, request_model, streamed, input_preview,
                               charges)
        select id, tenant_id, instance_id, operation, channel, request_id, trace_id, span_id,
               api_key_id, user_id, session_id, agent_id, request_model, streamed, input_preview, charges
        from input where number = 1
        on conflict (id) do nothing
      ), new_attempts as (
        insert into chat.attempts (id, run_id, tenant_id, number, provider, model, upstream_model, input_tokens_guess)
        select attempt_id, id, tenant_id, number, provider, model, upstream_model, input_tokens_guess from input
        where attempt_id not in (select attempt_id from refused)
        on conflict (id) do nothing
      ), ended as (
        update chat.attempts a set ${attemptAssignments}
        from alive, json_to_recordset($3::json) as e (${attemptRecord})
        where a.id = e.id and a.id = any($5::uuid[]) and a.status = 'started'
      )
      select exists (select from alive) as alive, array (select attempt_id from refused) as refused`,
    values: [
      instanceId,
      pgJson(starts),
      pgJson(ends),
      rows.flatMap(({ run, attempt }) => (attempt.number > 1 ? [run.id] : [])),
      ends.map(({ id }) => id),
    ],
  });
  return { alive: row?.alive === true, refused: new Set(row?.refused) };
}

/** Brings into the outbox that these runs are under way, those that are. */
export async function insertOpen(pool: Pool, runIds: readonly string[]): Promise<void> {
  await pool.query({
    name: 'insert_open',
    text: `
      insert into chat.outbox (tenant_id, run_id, type)
      select tenant_id, id, '${runStarted}' from chat.runs where id = any($1::uuid[]) and ended_at is null`,
    values: [runIds],
  });
}

interface TimedQuery {
  name: string;
  text: string;
  values: unknown[];
  /** Known to pg, if not to its types: milliseconds until it gives up on the answer. */
  query_timeout: number;
}

/** `pool.query` that tells a connection that was never had from a statement whose fate is unknown. */
async function queryOnce<Row extends object>(pool: Pool, query: TimedQuery): Promise<Row | undefined> {
  const client = await pool.connect().catch((error: unknown) => {
    throw isDatabaseOutage(error) ? new NothingWrittenError(error) : error;
  });
  let failed = true;
  try {
    const { rows } = await client.query<Row>(query);
    failed = false;
    return rows[0];
  } catch (error) {
    return wrapDatabaseError(error);
  } finally {
    client.release(failed);
  }
}

/**
 * Commits the ends of many runs in one statement. The first end of a run wins; returns the ids that this call ended.
 * In the same transaction each brings its event into the outbox, and their costs are noted for the budgets that they were
 * reserved in. Safe to repeat.
 */
export async function insertEnds(pool: Pool, rows: readonly EndRow[]): Promise<string[]> {
  const ends = rows.map(({ run, end }) => ({
    id: run.id,
    status: end.status,
    duration_ms: end.durationMs,
    time_to_first_token_ms: end.timeToFirstTokenMs,
    provider: end.provider,
    model: end.model,
    response_model: end.responseModel,
    ...usageColumns(end.usage),
    ...costColumns(end.cost),
    priced: end.cost.priced,
    error_type: end.errorType,
    error_message: end.errorMessage,
    output_preview: end.outputPreview,
  }));
  const attempts = rows.flatMap((row) => row.attempts.map((attempt) => attemptColumns(row.run.id, attempt)));
  const result = await pool.query<{ id: string }>({
    name: 'insert_ends',
    text: `
      with input as (
        select id, status, duration_ms, time_to_first_token_ms, provider, model, response_model, input_tokens,
               cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, usage_estimated, cost_pico,
               price_source, priced, error_type, error_message, output_preview
        from json_to_recordset($1::json) as i (
          id uuid, status text, duration_ms integer, time_to_first_token_ms integer, provider text, model text,
          response_model text, input_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint,
          output_tokens bigint, reasoning_tokens bigint, usage_estimated boolean, cost_pico bigint, price_source text,
          priced boolean, error_type text, error_message text, output_preview text)
      ), ended as (
        update chat.runs r set
          status = i.status, ended_at = ${timeAfterWriting}, duration_ms = i.duration_ms,
          time_to_first_token_ms = i.time_to_first_token_ms, provider = i.provider, model = i.model,
          response_model = i.response_model, input_tokens = i.input_tokens,
          cached_input_tokens = i.cached_input_tokens, cache_write_tokens = i.cache_write_tokens,
          output_tokens = i.output_tokens, reasoning_tokens = i.reasoning_tokens, usage_estimated = i.usage_estimated,
          cost_pico = i.cost_pico, price_source = i.price_source, priced = i.priced, error_type = i.error_type,
          error_message = i.error_message, output_preview = i.output_preview
        from input i
        where r.id = i.id and r.id = any($3::uuid[]) and r.ended_at is null
        returning r.id, r.tenant_id, r.instance_id, r.charges, r.cost_pico
      ), ended_attempts as (
        update chat.attempts a set ${attemptAssignments}
        from json_to_recordset($2::json) as e (${attemptRecord}) join ended on ended.id = e.run_id
        where a.id = e.id and a.id = any($4::uuid[]) and a.status = 'started'
      ), events as (
        insert into chat.outbox (tenant_id, run_id, type)
        select tenant_id, id, '${runEnded}' from ended
      ), costs as (
        insert into chat.run_costs (tenant_id, holder_id, charges, cost_pico)
        select tenant_id, instance_id, charges::text, coalesce(sum(cost_pico), 0) from ended where charges is not null
        group by tenant_id, instance_id, charges::text
      )
      select id from ended`,
    values: [pgJson(ends), pgJson(attempts), ends.map(({ id }) => id), attempts.map(({ id }) => id)],
  });
  return result.rows.map((row) => row.id);
}

/**
 * The time, once the transaction has its id: the relay's watermarks rest on no transaction writing an `ended_at` from
 * before it had one.
 */
const timeAfterWriting = 'case when pg_current_xact_id() is not null then clock_timestamp() end';

const attemptRecord = `id uuid, run_id uuid, status text, offset_ms integer, duration_ms integer,
  time_to_first_token_ms integer, http_status integer, error_code text, response_model text, input_tokens bigint,
  cached_input_tokens bigint, cache_write_tokens bigint, output_tokens bigint, reasoning_tokens bigint,
  usage_estimated boolean, cost_pico bigint, price_source text`;

const attemptAssignments = `status = e.status, offset_ms = e.offset_ms, duration_ms = e.duration_ms,
  time_to_first_token_ms = e.time_to_first_token_ms, http_status = e.http_status, error_code = e.error_code,
  response_model = e.response_model, input_tokens = e.input_tokens, cached_input_tokens = e.cached_input_tokens,
  cache_write_tokens = e.cache_write_tokens, output_tokens = e.output_tokens, reasoning_tokens = e.reasoning_tokens,
  usage_estimated = e.usage_estimated, cost_pico = e.cost_pico, price_source = e.price_source`;

function runColumns(run: RunIdentity): Record<string, unknown> {
  return {
    id: run.id,
    tenant_id: run.tenantId,
    operation: run.operation,
    channel: run.channel,
    request_id: run.requestId,
    trace_id: run.traceId,
    span_id: run.spanId,
    api_key_id: run.apiKeyId,
    user_id: run.userId,
    session_id: run.sessionId,
    agent_id: run.agentId,
    request_model: run.requestModel,
    streamed: run.streamed,
    input_preview: run.inputPreview,
    charges: run.charges,
  };
}

function attemptColumns(runId: string, attempt: AttemptEnd): Record<string, unknown> {
  return {
    id: attempt.id,
    run_id: runId,
    status: attempt.status,
    offset_ms: attempt.offsetMs,
    duration_ms: attempt.durationMs,
    time_to_first_token_ms: attempt.timeToFirstTokenMs,
    http_status: attempt.httpStatus,
    error_code: attempt.errorCode,
    response_model: attempt.responseModel,
    ...usageColumns(attempt.usage),
    ...costColumns(attempt.cost),
  };
}

function usageColumns(usage: AttemptEnd['usage']): Record<string, unknown> {
  return {
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    usage_estimated: usage.estimated,
  };
}

/** Amounts as text: they may be more than JSON's numbers hold exactly. */
function costColumns(cost: AttemptEnd['cost'] | RunEnd['cost']): Record<string, unknown> {
  return { cost_pico: cost?.costPico?.toString() ?? null, price_source: cost?.source ?? null };
}

/** JSON text that PostgreSQL takes: whatever a prompt holds, no row of it may fail the group it travels in. */
function pgJson(rows: readonly unknown[]): string {
  const text = JSON.stringify(rows);
  // JSON.stringify writes both NUL and lone surrogates as \u escapes, so their absence proves the text clean.
  if (!/\\u(0000|d[89a-f])/.test(text)) return text;
  return JSON.stringify(rows, (_name, value: unknown) =>
    typeof value === 'string' ? toPgText(value) : value,
  );
}
