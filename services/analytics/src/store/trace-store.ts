import type { Span } from '@gatehouse/events/run-event';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { Position } from '../domain/trace-cursor.ts';

/** A run as it is stored. Bigints and exact amounts come as text. */
export interface TraceRow {
  id: string;
  status: 'running' | 'ok' | 'error' | 'cancelled' | 'interrupted';
  operation: string;
  channel: string;
  trace_id: string;
  api_key_id: string;
  user_id: string | null;
  session_id: string | null;
  agent_id: string | null;
  request_model: string;
  input_preview: string | null;
  started_at: Date;
  ended_at: Date | null;
  duration_ms: number | null;
  time_to_first_token_ms: number | null;
  provider: string | null;
  response_model: string | null;
  input_tokens: string | null;
  cached_input_tokens: string | null;
  output_tokens: string | null;
  reasoning_tokens: string | null;
  cost_pico: string | null;
  priced: boolean | null;
  usage_estimated: boolean | null;
  error_type: string | null;
  error_message: string | null;
  output_preview: string | null;
  spans: Span[] | null;
}

const columns = `id, status, operation, channel, trace_id, api_key_id, user_id, session_id, agent_id, request_model,
  input_preview, started_at, ended_at, duration_ms, time_to_first_token_ms, provider, response_model, input_tokens,
  cached_input_tokens, output_tokens, reasoning_tokens, cost_pico, priced, usage_estimated, error_type, error_message,
  output_preview`;

/** Those that may be large, besides the spans. */
const largeColumns = ['input_preview', 'output_preview', 'error_message'];

export interface ChangeFilter {
  agentId: string | null;
  sessionId: string | null;
  user: string | null;
  status: string | null;
  channel: string | null;
  traceId: string | null;
}

export interface Changes {
  rows: ChangeRow[];
  hasMore: boolean;
  /** Where to go on. */
  position: Position;
  /** The PostgreSQL cluster that the position is of. */
  cluster: string;
  now: Date;
}

export type ChangeRow = TraceRow & { change_transaction: string; change_number: string };

/** Behind a change that was read. */
export function positionAfter(row: ChangeRow): Position {
  return { transaction: BigInt(row.change_transaction), number: BigInt(row.change_number) };
}

interface Horizon {
  oldest: string;
  cluster: string;
  now: Date;
}

/** Runs of one tenant at a time. */
export class TraceStore {
  readonly #pool: Pool;

  /** `pool` acts as `analytics_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /**
   * Changes after a position, or since a time, in the order of their transactions. Those of transactions that a
   * concurrent one may still precede are left for the next call: nothing slips in behind a cursor.
   */
  async changes(
    tenantId: string,
    after: (cluster: string) => Position | Date,
    filter: ChangeFilter & { limit: number; spans: boolean },
  ): Promise<Changes> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const horizon = await db.query<Horizon>({
        name: 'trace_horizon',
        text: `select pg_snapshot_xmin(pg_current_snapshot())::text as oldest, now(),
                      (select system_identifier::text from pg_control_system()) as cluster`,
      });
      const [{ oldest, cluster, now } = { oldest: '0', cluster: '0', now: new Date() }] = horizon.rows;
      const start = after(cluster);
      const [transaction, number, since] =
        start instanceof Date ? ['0', '0', start] : [start.transaction, start.number, null];
      const { rows, more } = await readPage<ChangeRow>(db, {
        columns: `${columns}, change_transaction, change_number, ${filter.spans ? 'spans' : 'null::json as spans'}`,
        from: `analytics.traces
         where tenant_id = $1 and change_transaction < $2::xid8
           and (change_transaction, change_number) > ($3::xid8, $4::bigint)
           ${since === null ? '' : sinceCondition}
           and ($5::uuid is null or agent_id = $5) and ($6::text is null or session_id = $6)
           and ($7::text is null or user_id = $7) and ($8::text is null or status = $8)
           and ($9::text is null or channel = $9) and ($10::text is null or trace_id = $10)
           and ($11::timestamptz is null or changed_at >= $11)`,
        order: 'change_transaction, change_number',
        size: sizeOf(...largeColumns, ...(filter.spans ? ['spans::text'] : [])),
        limit: filter.limit,
        values: [
          tenantId,
          oldest,
          transaction,
          number,
          filter.agentId,
          filter.sessionId,
          filter.user,
          filter.status,
          filter.channel,
          filter.traceId,
          since,
        ],
      });
      const last = more ? rows.at(-1) : undefined;
      // With nothing left, the next call need not look at anything below what was the horizon.
      const position = last === undefined ? { transaction: BigInt(oldest), number: 0n } : positionAfter(last);
      return { rows, hasMore: more, position: furthest(position, start), cluster, now };
    });
  }

  async find(tenantId: string, id: string): Promise<TraceRow | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<TraceRow>({
        name: 'find_trace',
        text: `select ${columns}, spans from analytics.traces where id = $1`,
        values: [id],
      });
      return rows[0] ?? null;
    });
  }
}

/** Lets the index on times find where to begin in the order of transactions. */
const sinceCondition = `and change_transaction >= (
             select min(change_transaction) from analytics.traces where tenant_id = $1 and changed_at >= $11)`;

function furthest(position: Position, start: Position | Date): Position {
  if (start instanceof Date || start.transaction <= position.transaction) return position;
  return start;
}
