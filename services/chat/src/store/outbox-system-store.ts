import type { Outbox } from '@gatehouse/events/outbox';
import {
  runEnded,
  writeRunEvent,
  type RunEnded,
  type RunStarted,
  type Span,
} from '@gatehouse/events/run-event';
import type { Queryable } from '@gatehouse/pg/pool';

/** Source of the events of this service. */
export const eventSource = 'gatehouse/chat';

type TimedField = 'started_at' | 'ended_at';
type CountField =
  'input_tokens' | 'cached_input_tokens' | 'cache_write_tokens' | 'output_tokens' | 'reasoning_tokens';

/** As pg reads them: times as `Date`, bigints as text. */
type AsRead<Data> = {
  [Field in keyof Data]: Field extends TimedField
    ? Date
    : Field extends CountField
      ? string | null
      : Data[Field];
};

interface OutboxRow {
  id: string;
  partition: number;
  tenant_id: string;
  run_id: string;
  type: string;
  occurred_at: Date;
}

type SpanRow = AsRead<Span> & { run_id: string };
type EndedRow = AsRead<Omit<RunEnded, 'spans' | 'tool_calls'>>;
/** Fields of the end are null while the run goes on. */
type RunRow = EndedRow | (AsRead<RunStarted> & { ended_at: null });

/**
 * Events about runs, made of the run's rows as they are now. The start of a run that has ended by then is not told any
 * more, since the end says it all: short runs make one event, not two.
 *
 * Three statements: joined, a cached plan compared every id with every other.
 */
export const runOutbox: Outbox = {
  async read(client, partitions, limit) {
    const { rows } = await client.query<OutboxRow>({
      name: 'read_outbox',
      text: `
        select id::text, partition, tenant_id, run_id, type, occurred_at from chat.outbox
        where partition = any($1::integer[]) order by chat.outbox.id limit $2`,
      values: [partitions, limit],
    });
    if (rows.length === 0) return [];
    const ids = [...new Set(rows.map((row) => row.run_id))];
    const runs = await readRuns(client, ids);
    const spans = await readSpans(client, ids);
    return rows.map((row) => ({
      id: row.id,
      partition: row.partition,
      key: row.tenant_id,
      occurredAt: row.occurred_at,
      json: toJson(row.type, runs.get(row.run_id), spans.get(row.run_id) ?? []),
    }));
  },

  async count(client, partitions, most) {
    const { rows } = await client.query<{ entries: number }>({
      name: 'count_outbox',
      text: `
        select count(*)::integer as entries
        from (select from chat.outbox where partition = any($1::integer[]) limit $2) as waiting`,
      values: [partitions, most],
    });
    return rows[0]?.entries ?? 0;
  },

  async remove(client, ids) {
    await client.query({
      name: 'remove_from_outbox',
      text: 'delete from chat.outbox where id = any($1::bigint[])',
      values: [ids],
    });
  },
};

async function readRuns(client: Queryable, ids: readonly string[]): Promise<Map<string, RunRow>> {
  const { rows } = await client.query<RunRow>({
    name: 'read_runs_of_events',
    text: `
      select id as run_id, tenant_id, operation, channel, request_id, trace_id, span_id, api_key_id, user_id, session_id,
             agent_id, request_model, streamed, input_preview, started_at, status, ended_at, duration_ms,
             time_to_first_token_ms, provider, model, response_model, error_type, error_message, output_preview,
             coalesce(priced, false) as priced, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens,
             reasoning_tokens, cost_pico::text, usage_estimated
      from chat.runs where id = any($1::uuid[])`,
    values: [ids],
  });
  return new Map(rows.map((row) => [row.run_id, row]));
}

/** The provider calls of ended runs, in their order. */
async function readSpans(client: Queryable, runIds: readonly string[]): Promise<Map<string, SpanRow[]>> {
  const { rows } = await client.query<SpanRow>({
    name: 'read_spans_of_events',
    text: `
      select run_id, id, number, provider, model, upstream_model, response_model,
             case status when 'started' then 'interrupted' else status end as status, offset_ms, duration_ms,
             time_to_first_token_ms, http_status, error_code, input_tokens, cached_input_tokens, cache_write_tokens,
             output_tokens, reasoning_tokens, cost_pico::text, coalesce(usage_estimated, false) as usage_estimated
      from chat.attempts where run_id = any($1::uuid[]) order by run_id, number`,
    values: [runIds],
  });
  return Map.groupBy(rows, (row) => row.run_id);
}

/** Null where there is nothing to tell: of a start after the end. */
function toJson(type: string, run: RunRow | undefined, spans: readonly SpanRow[]): string | null {
  if (run === undefined) return null;
  if ((type === runEnded) !== (run.ended_at !== null)) return null;
  return writeRunEvent(eventSource, run.ended_at === null ? toStarted(run) : toEnded(run, spans));
}

function toStarted(row: AsRead<RunStarted>): RunStarted {
  return {
    run_id: row.run_id,
    tenant_id: row.tenant_id,
    operation: row.operation,
    channel: row.channel,
    request_id: row.request_id,
    trace_id: row.trace_id,
    span_id: row.span_id,
    api_key_id: row.api_key_id,
    user_id: row.user_id,
    session_id: row.session_id,
    agent_id: row.agent_id,
    request_model: row.request_model,
    streamed: row.streamed,
    input_preview: row.input_preview,
    started_at: row.started_at.toISOString(),
  };
}

function toEnded(row: EndedRow, spans: readonly SpanRow[]): RunEnded {
  return {
    ...toStarted(row),
    status: row.status,
    ended_at: row.ended_at.toISOString(),
    duration_ms: row.duration_ms,
    time_to_first_token_ms: row.time_to_first_token_ms,
    provider: row.provider,
    model: row.model,
    response_model: row.response_model,
    error_type: row.error_type,
    error_message: row.error_message,
    output_preview: row.output_preview,
    // Calls of tools by the gateway itself, which calls none yet; what a model asks the client to call is none.
    tool_calls: 0,
    priced: row.priced,
    ...toUsage(row),
    spans: spans.map((span) => toSpan(span, row.operation)),
  };
}

function toSpan(row: SpanRow, operation: RunEnded['operation']): Span {
  return {
    id: row.id,
    kind: operation === 'embeddings' ? 'embedding' : 'llm',
    number: row.number,
    provider: row.provider,
    model: row.model,
    upstream_model: row.upstream_model,
    response_model: row.response_model,
    status: row.status,
    offset_ms: row.offset_ms,
    duration_ms: row.duration_ms,
    time_to_first_token_ms: row.time_to_first_token_ms,
    http_status: row.http_status,
    error_code: row.error_code,
    ...toUsage(row),
  };
}

type Usage = Pick<RunEnded, CountField | 'cost_pico' | 'usage_estimated'>;

/** Figures are null for calls that ended without any. */
function toUsage(row: AsRead<Usage>): Usage {
  return {
    input_tokens: Number(row.input_tokens),
    cached_input_tokens: Number(row.cached_input_tokens),
    cache_write_tokens: Number(row.cache_write_tokens),
    output_tokens: Number(row.output_tokens),
    reasoning_tokens: Number(row.reasoning_tokens),
    cost_pico: row.cost_pico,
    usage_estimated: row.usage_estimated,
  };
}
