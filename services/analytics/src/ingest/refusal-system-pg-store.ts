import type { RefusedEntry, RequestsRefused } from '@gatehouse/events/refused-event';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { keptRefusalsOfHour, lateRefusalDays, maxRefusedRows } from '../bounds.ts';
import { turnOfRefusals } from '../shared/refused-turn-pg-store.ts';

const groups = 'agent_id, channel, dialect, client, user_id, api_key_id';
const entriesWith = (columns: string): string => `json_to_recordset($1::json) as sent (
  tenant_id uuid, code text, operation text, agent_id uuid, channel text, dialect text, client text, user_id text,
  api_key_id uuid, ${columns})`;

/** One event at a time is stored, so the bounds of tenants hold. */
export async function insertRefusals(
  pool: Pool,
  { id, entries: sent }: RequestsRefused,
): Promise<RefusedEntry[]> {
  return withTransaction(pool, async (db) => {
    const { since } = await db.one<{ since: Date }>(
      `select now() - interval '${lateRefusalDays} days' as since from (${turnOfRefusals}) as turn`,
    );
    const isLate = ({ refused_at: at }: RefusedEntry): boolean => new Date(at) < since;
    const late = sent.filter(isLate);
    const entries = sent.filter((entry) => !isLate(entry));
    if (entries.length === 0) return late;
    const added = await db.count(
      'insert into analytics.refused_batches (id) values ($1) on conflict do nothing',
      [id],
    );
    if (added === 0) return late;
    const json = JSON.stringify(entries);
    await addCounts(db, json);
    await keepRequests(db, json);
    return late;
  });
}

/** A tenant with too many rows in a quarter of an hour is counted by code alone. */
async function addCounts(db: Queryable, json: string): Promise<void> {
  await db.query(
    `with sent as materialized (
       select tenant_id, code, model, ${groups}, count, date_bin('15 minutes', refused_at, 'epoch') as bucket
       from ${entriesWith('model text, count bigint, refused_at timestamptz')}
     ), known as materialized (
       select tenant_id, bucket, (
         select count(*) from analytics.refused_usage as rolled
         where rolled.tenant_id = quarters.tenant_id and rolled.bucket = quarters.bucket
       ) < ${maxRefusedRows} as fits
       from (select distinct tenant_id, bucket from sent) as quarters
     )
     insert into analytics.refused_usage (tenant_id, bucket, code, model, ${groups}, refused)
     select tenant_id, bucket, code, model, ${groups}, sum(count)
     from (
       select tenant_id, bucket, code, channel, count,
              case when fits then model else '' end as model,
              case when fits then agent_id end as agent_id, case when fits then dialect end as dialect,
              case when fits then client end as client, case when fits then user_id end as user_id,
              case when fits then api_key_id end as api_key_id
       from sent join known using (tenant_id, bucket)
     ) as counted
     group by tenant_id, bucket, code, model, ${groups}
     on conflict (tenant_id, bucket, code, model, ${groups}, is_day) do update set
       refused = refused_usage.refused + excluded.refused`,
    [json],
  );
}

/** Keeps the first requests of each hour of a tenant. */
async function keepRequests(db: Queryable, json: string): Promise<void> {
  await db.query(
    `with ranked as (
       select sent.*, detail.*, date_trunc('hour', detail.refused_at) as hour,
              row_number() over (
                partition by tenant_id, date_trunc('hour', detail.refused_at) order by detail.refused_at, detail.id
              ) as place
       from ${entriesWith('details json')} cross join json_to_recordset(sent.details) as detail (
         id uuid, request_id text, trace_id text, request_model text, session_id text, message text,
         refused_at timestamptz, guardrails json)
     ), kept as materialized (
       select tenant_id, hour, (
         select count(*) from analytics.refused_requests as known
         where known.tenant_id = hours.tenant_id and refused_at >= hour and refused_at < hour + interval '1 hour'
       ) as requests
       from (select distinct tenant_id, hour from ranked) as hours
     )
     insert into analytics.refused_requests (id, tenant_id, refused_at, code, message, operation, ${groups}, request_id,
       trace_id, session_id, request_model, guardrails)
     select id, tenant_id, refused_at, code, message, operation, ${groups}, request_id, trace_id, session_id,
            request_model, guardrails
     from ranked join kept using (tenant_id, hour)
     where place + requests <= ${keptRefusalsOfHour}
     on conflict do nothing`,
    [json],
  );
}

/** Events older than `lateRefusalDays` are not added. */
export const oldRefusedBatches: OldRows = {
  table: 'analytics.refused_batches',
  where: `stored_at < now() - interval '${lateRefusalDays + 1} days'`,
};
