import type { PageRows } from '@gatehouse/kit/page';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { positionOf, type ListPosition } from './list-cursor.ts';
import type { ListedRow, ListedTraces, ListRequest, Sort, TraceListStore } from './trace-list-store.ts';
import { largeColumns, traceColumns } from './trace-pg-store.ts';

/** Orders by which an index of `traces` has the runs of a tenant. `text` is the key as a cursor has it. */
const sorts = {
  started_at: {
    key: 'started_at',
    type: 'timestamptz',
    text: `to_char(started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
    least: '-infinity',
    most: 'infinity',
  },
  cost: {
    key: 'coalesce(cost_pico, 0)',
    type: 'numeric',
    text: 'coalesce(cost_pico, 0)::text',
    least: '-1',
    most: 'Infinity',
  },
  duration: {
    key: 'coalesce(duration_ms, 0)',
    type: 'integer',
    text: 'coalesce(duration_ms, 0)::text',
    least: '-1',
    most: '2147483647',
  },
} as const;
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const firstId = '00000000-0000-0000-0000-000000000000';

/**
 * The runs of a period, in the partitions that may have some. Partitions are by id, which has the time of a run by the
 * clock of a replica, hence a day of margin.
 */
const inPeriod = `tenant_id = $1
  and id >= analytics.first_id_at(date_trunc('month', $2::timestamptz - interval '1 day', 'UTC'))
  and started_at >= $2 and started_at < $3`;

interface Walk {
  /** The tenant and the period: the first parameters of all statements. */
  values: readonly unknown[];
  sort: Sort;
  start: ListPosition;
  maxRead: number;
}

/** A search of previews reads a fraction of the runs: the database converts their texts to lower case. */
const previewsShare = 1 / 5;

/** Lists of runs of one tenant. */
export class TraceListPgStore extends Store implements TraceListStore {
  readonly #maxRead: number;

  /** `pool` acts as `analytics_app`. `maxRead` is the number of runs that one page reads. */
  constructor(pool: Pool, maxRead = 10_000) {
    super(pool);
    this.#maxRead = maxRead;
  }

  /**
   * By start, a page reads `maxRead` runs at most. By cost and duration, the list has the first `maxRead` runs of the
   * period. The list of runs under way has as many.
   */
  async list(tenantId: string, request: ListRequest): Promise<ListedTraces> {
    const { period, sort, after } = request;
    return withTenant(this.pool, tenantId, async (db) => {
      const values = [tenantId, period.from, period.to];
      const maxRead = Math.ceil(
        this.#maxRead * (request.filter.search?.previews === true ? previewsShare : 1),
      );
      const walk = { values, sort, maxRead, start: after ?? { key: sorts[sort].most, id: lastId } };
      const isRunning = request.filter.status === 'running';
      const end = sort === 'started_at' && !isRunning ? await endOfWalk(db, walk) : null;
      const among = isRunning
        ? runsUnderWay(walk)
        : sort === 'started_at'
          ? 'analytics.traces'
          : await firstRuns(db, walk);
      const { rows, more } = await readRuns(db, { ...walk, end, among, request });
      const last = more ? rows.at(-1) : undefined;
      return { rows, next: last === undefined ? end : positionOf(last) };
    });
  }
}

/**
 * The first runs of a period by cost or duration. All runs of a short period are read and sorted; those of a long one
 * are read in the order of an index, always from its begin: row-level security admits no bound by these keys to it.
 */
async function firstRuns(db: Queryable, walk: Walk): Promise<string> {
  const runs = `select tenant_id, model, ${traceColumns} from analytics.traces where ${inPeriod}`;
  if (await isShort(db, walk)) return `(${runs} offset 0) as traces`;
  await withoutSort(db);
  return `(${runs} order by ${sorts[walk.sort].key} desc, id desc limit ${walk.maxRead}) as traces`;
}

/** Few runs have no end, and an index has them: by start, a page would read the many others beside them. */
function runsUnderWay({ maxRead }: Walk): string {
  return `(select tenant_id, model, ${traceColumns} from analytics.traces where ${inPeriod} and ended_at is null
    limit ${maxRead}) as traces`;
}

/** Without statistics the planner would read all runs and sort them. */
async function withoutSort(db: Queryable): Promise<void> {
  await db.query(`select set_config('enable_sort', 'off', true)`);
}

async function isShort(db: Queryable, { values, maxRead }: Walk): Promise<boolean> {
  const { short } = await db.one<{ short: boolean }>(
    `select count(*) <= $4 as short from (select from analytics.traces where ${inPeriod} limit $4 + 1) as runs`,
    [...values, maxRead],
  );
  return short;
}

/** The last run that a page by start reads; null when it reads all. */
async function endOfWalk(db: Queryable, { values, start, maxRead }: Walk): Promise<ListPosition | null> {
  await withoutSort(db);
  return db.first<ListPosition>(
    `select ${sorts.started_at.text} as key, id from analytics.traces
     where ${inPeriod} and (started_at, id) < ($4::timestamptz, $5::uuid)
     order by started_at desc, id desc offset $6 limit 1`,
    [...values, start.key, start.id, maxRead - 1],
  );
}

function readRuns(
  db: Queryable,
  {
    values,
    sort,
    start,
    end,
    among,
    request,
  }: Walk & { end: ListPosition | null; among: string; request: ListRequest },
): Promise<PageRows<ListedRow>> {
  const { filter, limit } = request;
  const { key, type, text, least } = sorts[sort];
  const search = filter.search;
  return readPage<ListedRow>(db, {
    columns: `${traceColumns}, null::json as spans, ${text} as list_key, ${key} as order_key`,
    from: `${among}
     where ${inPeriod} and (${key}, id) < ($4::${type}, $5::uuid) and (${key}, id) >= ($6::${type}, $7::uuid)
       and ($8::text is null or request_model = $8 or model = $8) and ($9::text is null or provider = $9)
       and ($10::uuid is null or agent_id = $10) and ($11::uuid is null or api_key_id = $11)
       and ($12::text is null or user_id = $12) and ($13::text is null or session_id = $13)
       and ($14::text is null or channel = $14) and ($15::text is null or dialect = $15)
       and ($16::text is null or status = $16) and ($17::text is null or error_type = $17)
       and ($18::numeric is null or cost_pico >= $18) and ($19::bigint is null or duration_ms >= $19)
       and ($20::text is null or ${matchesSearch})`,
    order: 'order_key desc, id desc',
    size: sizeOf(...largeColumns),
    limit,
    values: [
      ...values,
      ...[start.key, start.id, end?.key ?? least, end?.id ?? firstId],
      ...[filter.model, filter.provider, filter.agentId, filter.apiKeyId, filter.user, filter.sessionId],
      ...[filter.channel, filter.dialect, filter.status, filter.errorCode],
      ...[filter.minCost, filter.minDurationMs],
      ...[search?.text ?? null, search?.agentIds ?? [], search?.apiKeyIds ?? [], search?.previews ?? false],
    ],
  });
}

const begins = (text: string): string => `starts_with(lower(${text}), lower($20))`;
/** Ids are lower case. */
const matchesSearch = `(${begins('request_model')} or ${begins('response_model')} or ${begins(`operation || ' ' || request_model`)}
  or ${begins('user_id')} or ${begins('session_id')} or ${begins('id::text')} or ${begins('trace_id')}
  or agent_id = any($21::uuid[]) or api_key_id = any($22::uuid[])
  or ($23 and (strpos(lower(input_preview), lower($20)) > 0 or strpos(lower(output_preview), lower($20)) > 0)))`;
