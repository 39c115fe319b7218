import { readPage, sizeOf } from '@gatehouse/pg/page';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { TraceRow } from './stored-run.ts';
import { positionAfter, type Position } from './trace-cursor.ts';
import type { ChangeFilter, ChangeRow, TraceChanges, TraceStore } from './trace-store.ts';

/** The columns of a trace besides its spans. */
export const traceColumns = `id, status, operation, channel, dialect, client, trace_id, api_key_id, user_id, session_id, agent_id, request_model,
  input_preview, started_at, ended_at, duration_ms, time_to_first_token_ms, provider, response_model, input_tokens,
  cached_input_tokens, output_tokens, reasoning_tokens, cost_pico, priced, usage_estimated, own_key, error_type,
  error_message, output_preview, groups, guardrails`;

/** The possibly large columns, besides the spans. */
export const largeColumns = [
  'input_preview',
  'output_preview',
  'error_message',
  'groups::text',
  'guardrails::text',
];

interface Horizon {
  oldest: string;
  cluster: string;
  now: Date;
}

/** The changes of a tenant after a position, of transactions before `oldest`. */
interface Range {
  tenantId: string;
  from: Position;
  oldest: string;
}

/** The runs of one tenant per call. */
export class TracePgStore extends Store implements TraceStore {
  readonly #maxScanned: number;

  /** `pool` acts as `analytics_app`. `maxScanned` is the number of changes one call of `changes` reads. */
  constructor(pool: Pool, maxScanned = 50_000) {
    super(pool);
    this.#maxScanned = maxScanned;
  }

  async changes(
    tenantId: string,
    after: (cluster: string) => Position | Date,
    filter: ChangeFilter & { limit: number; spans: boolean },
  ): Promise<TraceChanges> {
    return withTenant(this.pool, tenantId, async (db) => {
      const { oldest, cluster, now } = await db.one<Horizon>({
        name: 'trace_horizon',
        // Without statistics the planner would read all changes and sort them, 0.8 s for 300,000 of them.
        text: `select set_config('enable_sort', 'off', true), pg_snapshot_xmin(pg_current_snapshot())::text as oldest, now(),
                      (select system_identifier::text from pg_control_system()) as cluster`,
      });
      const start = after(cluster);
      const since = start instanceof Date ? start : null;
      const from = start instanceof Date ? await positionOf(db, { tenantId, since: start, oldest }) : start;
      // Before the page is read: moving rows make the range smaller meanwhile, never longer.
      const end = await this.#endOfScan(db, { tenantId, from, oldest });
      const { rows, more } = await readPage<ChangeRow>(db, {
        columns: `${traceColumns}, change_transaction, change_number, ${filter.spans ? 'spans' : 'null::json as spans'}`,
        from: `analytics.traces
         where tenant_id = $1 and change_transaction < $2::xid8
           and (change_transaction, change_number) > ($3::xid8, $4::bigint)
           and (change_transaction, change_number) <= ($12::xid8, $13::bigint)
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
          from.transaction,
          from.number,
          filter.agentId,
          filter.sessionId,
          filter.user,
          filter.status,
          filter.channel,
          filter.traceId,
          since,
          end?.transaction ?? oldest,
          end?.number ?? '0',
        ],
      });
      const last = more ? rows.at(-1) : undefined;
      // No change is left below the horizon, so the next call can start there.
      const position =
        last === undefined ? (end ?? { transaction: BigInt(oldest), number: 0n }) : positionAfter(last);
      return { rows, hasMore: more || end !== undefined, position: furthest(position, from), cluster, now };
    });
  }

  /** The last change one call reads; undefined when it reads all. */
  async #endOfScan(db: Queryable, { tenantId, from, oldest }: Range): Promise<Position | undefined> {
    const last = await db.first<{ transaction: string; number: string }>(
      `select change_transaction as transaction, change_number as number
       from analytics.traces
       where tenant_id = $1 and change_transaction < $2::xid8
         and (change_transaction, change_number) > ($3::xid8, $4::bigint)
       order by change_transaction, change_number offset $5 limit 1`,
      [tenantId, oldest, from.transaction, from.number, this.#maxScanned - 1],
    );
    return last === null ? undefined : { transaction: BigInt(last.transaction), number: BigInt(last.number) };
  }

  find(tenantId: string, id: string): Promise<TraceRow | null> {
    return this.tenant(tenantId).first<TraceRow>({
      name: 'find_trace',
      text: `select ${traceColumns}, spans from analytics.traces where id = $1`,
      values: [id],
    });
  }
}

/**
 * A position before all changes since a time. A transaction begun two minutes after another one has the greater id, so
 * the earliest changes have the lowest ids. Only a restore breaks this order: it gives changes the id 3
 * (docs/operators/backup.md), so a tenant with changes of this id starts with them.
 */
async function positionOf(
  db: Queryable,
  { tenantId, since, oldest }: { tenantId: string; since: Date; oldest: string },
): Promise<Position> {
  const rows = await db.all<{ transaction: string }>(
    `with first as materialized (
       select min(changed_at) as at from analytics.traces where tenant_id = $1 and changed_at >= $2
     ), recent as materialized (
       select change_transaction from analytics.traces
       where tenant_id = $1 and changed_at >= (select at from first)
         and changed_at < (select at from first) + interval '2 minutes'
     )
     select coalesce(
       (select change_transaction from analytics.traces where tenant_id = $1 and change_transaction = '3' limit 1),
       (select min(change_transaction) from recent),
       $3::xid8)::text as transaction`,
    [tenantId, since, oldest],
  );
  // Numbers begin at 1. A cursor can hold this one, which it must when a running transaction hides all changes.
  return { transaction: BigInt(rows[0]?.transaction ?? oldest), number: 0n };
}

function furthest(position: Position, start: Position): Position {
  return start.transaction <= position.transaction ? position : start;
}
