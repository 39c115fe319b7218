import type { PageRows } from '@gatehouse/kit/page';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { maxRefusedRead } from '../bounds.ts';
import { positionOf, type ListPosition } from './list-cursor.ts';
import type { TraceRow } from './stored-run.ts';
import type { ListedRow, ListedTraces, ListRequest, TraceListStore } from './trace-list-store.ts';
import type { TraceStore } from './trace-store.ts';

/** Refused requests in the shape of runs: without a provider, tokens and a cost. */
const columns = `id, 'refused' as status, operation, channel, dialect, client, trace_id, api_key_id, user_id, session_id,
  agent_id, request_model, null::text as input_preview, refused_at as started_at, refused_at as ended_at,
  0 as duration_ms, null::integer as time_to_first_token_ms, null::text as provider, null::text as response_model,
  0 as input_tokens, 0 as cached_input_tokens, 0 as output_tokens, 0 as reasoning_tokens, null::numeric as cost_pico,
  false as priced, false as usage_estimated, false as own_key, code as error_type, message as error_message,
  null::text as output_preview, null::text[] as groups, guardrails, null::json as spans`;

const listKey = `to_char(refused_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const inPeriod = `tenant_id = $1 and refused_at >= $2 and refused_at < $3
  and (refused_at, id) < ($4::timestamptz, $5::uuid)`;
const beforeAll: ListPosition = { key: 'infinity', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
const afterAll: ListPosition = { key: '-infinity', id: '00000000-0000-0000-0000-000000000000' };

/** Lists of refused requests of one tenant. */
export class RefusedListPgStore extends Store implements TraceListStore, Pick<TraceStore, 'find'> {
  readonly #maxRead: number;

  /** `pool` acts as `analytics_app`. `maxRead`: the number of requests read for one page. */
  constructor(pool: Pool, maxRead = maxRefusedRead) {
    super(pool);
    this.#maxRead = maxRead;
  }

  /**
   * A page in descending order of time, whatever the order of the request: all have no cost and no duration. It reads
   * `maxRead` requests at most: when few of them match the filter, it may be short, or empty, although more follow.
   */
  async list(tenantId: string, request: ListRequest): Promise<ListedTraces> {
    const { period, filter } = request;
    // Refused requests have no provider, no cost and no duration.
    if (filter.provider !== null || Number(filter.minCost ?? 0) > 0 || (filter.minDurationMs ?? 0) > 0)
      return { rows: [], next: null };
    return withTenant(this.pool, tenantId, async (db) => {
      const start = request.after ?? beforeAll;
      const walk = [tenantId, period.from, period.to, start.key, start.id];
      const end = await db.first<ListPosition>(
        `select ${listKey} as key, id from analytics.refused_requests
         where ${inPeriod} order by refused_at desc, id desc offset $6 limit 1`,
        [...walk, this.#maxRead - 1],
      );
      const { rows, more } = await readRefusals(db, { walk, end: end ?? afterAll, request });
      const last = more ? rows.at(-1) : undefined;
      return { rows, next: last === undefined ? end : positionOf(last) };
    });
  }

  find(tenantId: string, id: string): Promise<TraceRow | null> {
    return this.tenant(tenantId).first<TraceRow>(
      `select ${columns} from analytics.refused_requests where id = $1`,
      [id],
    );
  }
}

function readRefusals(
  db: Queryable,
  { walk, end, request }: { walk: readonly unknown[]; end: ListPosition; request: ListRequest },
): Promise<PageRows<ListedRow>> {
  const { filter, limit } = request;
  const { search } = filter;
  return readPage<ListedRow>(db, {
    columns: `${columns}, ${listKey} as list_key`,
    from: `analytics.refused_requests
       where ${inPeriod} and (refused_at, id) >= ($6::timestamptz, $7::uuid)
         and ($8::text is null or request_model = $8) and ($9::uuid is null or agent_id = $9)
         and ($10::uuid is null or api_key_id = $10) and ($11::text is null or user_id = $11)
         and ($12::text is null or session_id = $12) and ($13::text is null or channel = $13)
         and ($14::text is null or dialect = $14) and ($15::text is null or code = $15)
         and ($16::text is null or starts_with(lower(request_model), lower($16)) or starts_with(id::text, lower($16))
              or starts_with(trace_id, lower($16)) or starts_with(lower(user_id), lower($16))
              or starts_with(lower(session_id), lower($16)) or agent_id = any($17::uuid[])
              or api_key_id = any($18::uuid[]))`,
    order: 'started_at desc, id desc',
    size: sizeOf('message', 'guardrails::text'),
    limit,
    values: [
      ...walk,
      ...[end.key, end.id],
      ...[filter.model, filter.agentId, filter.apiKeyId, filter.user, filter.sessionId],
      ...[filter.channel, filter.dialect, filter.errorCode],
      ...[search?.text ?? null, search?.agentIds ?? [], search?.apiKeyIds ?? []],
    ],
  });
}
