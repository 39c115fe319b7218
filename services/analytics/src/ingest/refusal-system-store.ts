import type { RequestsRefused } from '@gatehouse/events/refused-event';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { keptRefusalsOfHour, lateRefusalDays, maxRefusedRows } from '../bounds.ts';

const groups = 'agent_id, channel, dialect, client, user_id, api_key_id';
const sent = `json_to_recordset($1::json) as sent (
  tenant_id uuid, code text, operation text, request_model text, agent_id uuid, channel text, dialect text, client text,
  user_id text, api_key_id uuid, count bigint, details json)`;

/**
 * Adds counts of refused requests and keeps single ones, in one transaction, once for each id. One event at a time is
 * stored, so the bounds of tenants hold. Returns false for counts that come too late, which may have been added.
 */
export async function insertRefusals(
  pool: Pool,
  { id, refused_at: at, entries }: RequestsRefused,
): Promise<boolean> {
  return withTransaction(pool, async (db) => {
    const { late } = await db.one<{ late: boolean }>(
      `select $1::timestamptz < now() - interval '${lateRefusalDays} days' as late
       from (select pg_advisory_xact_lock(hashtext('analytics.refusals'))) as turn`,
      [at],
    );
    if (late) return false;
    const added = await db.count(
      'insert into analytics.refused_batches (id) values ($1) on conflict do nothing',
      [id],
    );
    if (added === 0) return true;
    const json = JSON.stringify(entries);
    await addCounts(db, json, at);
    await keepRequests(db, json);
    return true;
  });
}

/** A tenant with too many rows in the quarter of an hour is counted by code alone. */
async function addCounts(db: Queryable, json: string, at: string): Promise<void> {
  await db.query(
    `with known as materialized (
       select tenant_id, (
         select count(*) from analytics.refused_usage as rolled
         where rolled.tenant_id = tenants.tenant_id and bucket = date_bin('15 minutes', $2::timestamptz, 'epoch')
       ) < ${maxRefusedRows} as fits
       from (select distinct tenant_id from ${sent}) as tenants
     )
     insert into analytics.refused_usage (tenant_id, bucket, code, model, ${groups}, refused)
     select tenant_id, date_bin('15 minutes', $2::timestamptz, 'epoch'), code, model, ${groups}, sum(count)
     from (
       select tenant_id, code, channel, count,
              case when fits then request_model else '' end as model,
              case when fits then agent_id end as agent_id, case when fits then dialect end as dialect,
              case when fits then client end as client, case when fits then user_id end as user_id,
              case when fits then api_key_id end as api_key_id
       from ${sent} join known using (tenant_id)
     ) as counted
     group by tenant_id, code, model, ${groups}
     on conflict (tenant_id, bucket, code, model, ${groups}) do update set
       refused = refused_usage.refused + excluded.refused`,
    [json, at],
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
       from ${sent} cross join json_to_recordset(sent.details) as detail (
         id uuid, request_id text, trace_id text, session_id text, message text, refused_at timestamptz)
     ), kept as materialized (
       select tenant_id, hour, (
         select count(*) from analytics.refused_requests as known
         where known.tenant_id = hours.tenant_id and refused_at >= hour and refused_at < hour + interval '1 hour'
       ) as requests
       from (select distinct tenant_id, hour from ranked) as hours
     )
     insert into analytics.refused_requests (id, tenant_id, refused_at, code, message, operation, ${groups}, request_id,
       trace_id, session_id, request_model)
     select id, tenant_id, refused_at, code, message, operation, ${groups}, request_id, trace_id, session_id,
            request_model
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
