import { writeEvent } from '@gatehouse/events/cloud-event';
import type { Outbox } from '@gatehouse/events/outbox';
import { runEnded } from '@gatehouse/events/run-event';

/** Source of the events of this service. */
export const eventSource = 'gatehouse/chat';

interface EventRow {
  id: string;
  partition: number;
  tenant_id: string;
  run_id: string;
  type: string;
  occurred_at: Date;
  time: string;
  data: string;
}

const identity = `r.id as run_id, r.tenant_id, r.operation, r.channel, r.request_id, r.trace_id, r.span_id, r.api_key_id,
  r.user_id, r.session_id, r.agent_id, r.request_model, r.streamed, r.input_preview, r.started_at`;

const end = `r.status, r.ended_at, r.duration_ms, r.time_to_first_token_ms, r.provider, r.model, r.response_model,
  r.error_type, r.error_message, r.output_preview, 0 as tool_calls, coalesce(r.priced, false) as priced, r.input_tokens,
  r.cached_input_tokens, coalesce(r.cache_write_tokens, 0) as cache_write_tokens, r.output_tokens, r.reasoning_tokens, r.cost_pico::text, r.usage_estimated`;

/** Null figures are those of calls that ended without any. */
const spans = `(
  select coalesce(json_agg(s order by s.number), '[]') from (
    select a.id, case r.operation when 'embeddings' then 'embedding' else 'llm' end as kind, a.number, a.provider,
           a.model, a.upstream_model, a.response_model,
           case a.status when 'started' then 'interrupted' else a.status end as status, a.offset_ms, a.duration_ms,
           a.time_to_first_token_ms, a.http_status, a.error_code, coalesce(a.input_tokens, 0) as input_tokens,
           coalesce(a.cached_input_tokens, 0) as cached_input_tokens,
           coalesce(a.cache_write_tokens, 0) as cache_write_tokens, coalesce(a.output_tokens, 0) as output_tokens,
           coalesce(a.reasoning_tokens, 0) as reasoning_tokens, a.cost_pico::text,
           coalesce(a.usage_estimated, false) as usage_estimated
    from chat.attempts a where a.run_id = r.id) as s) as spans`;

/**
 * Events about runs, made of the run's rows as they are now: a start that is published after the end tells of the same
 * start. Runs are named by an array for the planner, as in `run-system-store.ts`.
 */
export const runOutbox: Outbox = {
  async read(client, partitions, limit) {
    const { rows } = await client.query<EventRow>({
      name: 'read_outbox',
      text: `
        with batch as materialized (
          select id, partition, tenant_id, run_id, type, occurred_at from chat.outbox
          where partition = any($1::integer[]) order by id limit $2
        )
        select batch.id::text, batch.partition, batch.tenant_id, batch.run_id, batch.type, batch.occurred_at,
               to_json(case batch.type when '${runEnded}' then r.ended_at else r.started_at end) #>> '{}' as time,
               case batch.type
                 when '${runEnded}' then (select row_to_json(e) from (select ${identity}, ${end}, ${spans}) as e)
                 else (select row_to_json(e) from (select ${identity}) as e)
               end::text as data
        from batch join chat.runs r on r.id = batch.run_id and r.id = any(array(select run_id from batch))
        order by batch.id`,
      values: [partitions, limit],
    });
    return rows.map((row) => ({
      id: row.id,
      partition: row.partition,
      key: row.tenant_id,
      occurredAt: row.occurred_at,
      json: writeEvent({
        id: `${row.run_id}.${row.type === runEnded ? 'ended' : 'started'}`,
        source: eventSource,
        type: row.type,
        time: row.time,
        subject: row.run_id,
        partitionkey: row.tenant_id,
        data: row.data,
      }),
    }));
  },

  async remove(client, ids) {
    await client.query({
      name: 'remove_from_outbox',
      text: 'delete from chat.outbox where id = any($1::bigint[])',
      values: [ids],
    });
  },
};
