import { readPage } from '@gatehouse/pg/page';
import { Store } from '@gatehouse/pg/store';
import type { TraceRow } from './stored-run.ts';
import type { ListRequest, ListedRow, ListedTraces } from './trace-list-store.ts';

/** Refused requests in the shape of runs: without a provider, tokens and a cost. */
const columns = `id, 'refused' as status, operation, channel, dialect, client, trace_id, api_key_id, user_id, session_id,
  agent_id, request_model, null::text as input_preview, refused_at as started_at, refused_at as ended_at,
  0 as duration_ms, null::integer as time_to_first_token_ms, null::text as provider, null::text as response_model,
  0 as input_tokens, 0 as cached_input_tokens, 0 as output_tokens, 0 as reasoning_tokens, null::numeric as cost_pico,
  false as priced, false as usage_estimated, false as own_key, code as error_type, message as error_message,
  null::text as output_preview, null::json as spans`;

/** Lists of refused requests of one tenant. `pool` acts as `analytics_app`. */
export class RefusedListStore extends Store {
  /** A page in descending order of time, whatever the order of the request: all have no cost and no duration. */
  async list(tenantId: string, { period, filter, after, limit }: ListRequest): Promise<ListedTraces> {
    const { search } = filter;
    const { rows, more } = await readPage<ListedRow>(this.tenant(tenantId), {
      columns: `${columns}, to_char(refused_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as list_key`,
      from: `analytics.refused_requests
       where tenant_id = $1 and refused_at >= $2 and refused_at < $3
         and ($4::timestamptz is null or (refused_at, id) < ($4, $5::uuid))
         and ($6::text is null or request_model = $6) and ($7::uuid is null or agent_id = $7)
         and ($8::uuid is null or api_key_id = $8) and ($9::text is null or user_id = $9)
         and ($10::text is null or session_id = $10) and ($11::text is null or channel = $11)
         and ($12::text is null or dialect = $12) and ($13::text is null or code = $13)
         and ($14::text is null or starts_with(lower(request_model), lower($14)) or starts_with(id::text, lower($14))
              or starts_with(trace_id, lower($14)) or starts_with(lower(user_id), lower($14))
              or starts_with(lower(session_id), lower($14)) or agent_id = any($15::uuid[])
              or api_key_id = any($16::uuid[]))
         and $17`,
      order: 'started_at desc, id desc',
      size: 'octet_length(message)',
      limit,
      values: [
        ...[tenantId, period.from, period.to, after?.key ?? null, after?.id ?? null],
        ...[filter.model, filter.agentId, filter.apiKeyId, filter.user, filter.sessionId],
        ...[filter.channel, filter.dialect, filter.errorCode],
        ...[search?.text ?? null, search?.agentIds ?? [], search?.apiKeyIds ?? []],
        // Refused requests have no provider, no cost and no duration.
        filter.provider === null && Number(filter.minCost ?? 0) === 0 && (filter.minDurationMs ?? 0) === 0,
      ],
    });
    const last = more ? rows.at(-1) : undefined;
    return { rows, next: last === undefined ? null : { key: last.list_key, id: last.id } };
  }

  /** Null without a refused request of this id. */
  find(tenantId: string, id: string): Promise<TraceRow | null> {
    return this.tenant(tenantId).first<TraceRow>(
      `select ${columns} from analytics.refused_requests where id = $1`,
      [id],
    );
  }
}
