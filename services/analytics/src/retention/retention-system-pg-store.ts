import { dayMs } from '@gatehouse/kit/bounds';
import { withTransaction, type Pool, type PoolClient } from '@gatehouse/pg/pool';
import type { Batch, Blanked, RetentionStore, TenantRows } from './retention-system-store.ts';

/** `pool` acts as `analytics_system`. */
export function retentionPgStore(pool: Pool): RetentionStore {
  return {
    nextTenants: (...page) => nextTenants(pool, ...page),
    nextTenantsOfRefusals: (...page) => nextTenantsOfRefusals(pool, ...page),
    deleteTraces: (batch) => deleteTraces(pool, batch),
    deleteRefusals: (batch) => deleteRefusals(pool, batch),
    blankTraces: (batch) => blankTraces(pool, batch),
    deleteDeadLetters: (batch) => deleteDeadLetters(pool, batch),
    dropExpiredPartition: () => dropExpiredPartition(pool),
  };
}

async function nextTenants(pool: Pool, after: string, limit: number): Promise<TenantRows[]> {
  const oldestAfter = (tenantId: string): string =>
    `(select tenant_id, id from analytics.traces where tenant_id > ${tenantId} order by tenant_id, id limit 1)`;
  const rows = await pool.all<{ tenant_id: string; id: string; now: number }>({
    name: 'find_next_tenants_of_traces',
    text: `with recursive oldest as (
             ${oldestAfter('$1')}
             union all
             select next.tenant_id, next.id from oldest cross join lateral ${oldestAfter('oldest.tenant_id')} as next
           )
           select tenant_id, id, extract(epoch from now())::float8 * 1000 as now from oldest limit $2`,
    values: [after, limit],
  });
  return rows.map(({ tenant_id: tenantId, id, now }) => {
    const startedAt = parseInt(id.replaceAll('-', '').slice(0, 12), 16);
    return { tenantId, oldestDays: (now - startedAt) / dayMs };
  });
}

async function nextTenantsOfRefusals(pool: Pool, after: string, limit: number): Promise<TenantRows[]> {
  const oldestAfter = (tenantId: string): string =>
    `(select tenant_id, refused_at from analytics.refused_requests where tenant_id > ${tenantId}
      order by tenant_id, refused_at limit 1)`;
  return pool.all<TenantRows>({
    name: 'find_next_tenants_of_refusals',
    text: `with recursive oldest as (
             ${oldestAfter('$1')}
             union all
             select next.tenant_id, next.refused_at
             from oldest cross join lateral ${oldestAfter('oldest.tenant_id')} as next
           )
           select tenant_id as "tenantId", extract(epoch from now() - refused_at)::float8 / 86400 as "oldestDays"
           from oldest limit $2`,
    values: [after, limit],
  });
}

async function deleteTraces(pool: Pool, { tenantId, olderThanDays, limit }: Batch): Promise<number> {
  return withTurn(pool, tenantId, 0, async (client) => {
    const rows = await client.all<{ id: string }>(
      `select id from analytics.traces
       where tenant_id = $1 and id < analytics.first_id_at(now() - $2 * interval '1 day')
         and not coalesce(fold > (select folded_to from analytics.folds), false)
       order by id limit $3
       for update skip locked`,
      [tenantId, olderThanDays, limit],
    );
    // Separate from the search: PostgreSQL plans for these ids and reads only their partition.
    return client.count('delete from analytics.traces where id = any($1::uuid[])', [
      rows.map((row) => row.id),
    ]);
  });
}

async function deleteRefusals(pool: Pool, { tenantId, olderThanDays, limit }: Batch): Promise<number> {
  return withTurn(pool, tenantId, 0, async (client) =>
    client.count(
      `delete from analytics.refused_requests where id = any(array(
         select id from analytics.refused_requests
         where tenant_id = $1 and refused_at < now() - $2 * interval '1 day' order by refused_at limit $3))`,
      [tenantId, olderThanDays, limit],
    ),
  );
}

async function blankTraces(
  pool: Pool,
  { tenantId, olderThanDays, limit, after }: Batch & { after: string },
): Promise<Blanked> {
  const nothing: Blanked = { rows: 0, last: null };
  return withTurn(pool, tenantId, nothing, async (client) => {
    const rows = await client.all<{ id: string; texts: boolean }>(
      `select id, input_preview is not null or output_preview is not null or error_message is not null as texts
       from analytics.traces
       where tenant_id = $1 and id > $4 and id < analytics.first_id_at(now() - $2 * interval '1 day')
       order by id limit $3`,
      [tenantId, olderThanDays, limit, after],
    );
    const blanked = await client.count(
      `update analytics.traces set input_preview = null, output_preview = null, error_message = null
       where id = any($1::uuid[])`,
      [rows.flatMap((row) => (row.texts ? [row.id] : []))],
    );
    return { rows: blanked, last: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
  });
}

async function deleteDeadLetters(
  pool: Pool,
  { olderThanDays, limit }: { olderThanDays: number; limit: number },
): Promise<number> {
  return withTurn(pool, 'dead letters', 0, async (client) => {
    return client.count(
      `delete from analytics.dead_letters where id = any(array(
         select id from analytics.dead_letters where received_at < now() - $1 * interval '1 day'
         order by received_at limit $2))`,
      [olderThanDays, limit],
    );
  });
}

async function dropExpiredPartition(pool: Pool): Promise<string | null> {
  const row = await pool.first<{ name: string | null }>('select analytics.drop_expired_partition() as name');
  return row?.name ?? null;
}

/**
 * Runs `work` in one transaction and returns its result; returns `otherwise` while another replica does the same work.
 * A writing transaction may last one second, so each of its two statements gets half of it.
 */
async function withTurn<Result>(
  pool: Pool,
  subject: string,
  otherwise: Result,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  return withTransaction(pool, async (client) => {
    await client.query('set local statement_timeout = 450');
    const rows = await client.all<{ ours: boolean }>(
      `select pg_try_advisory_xact_lock(hashtext('analytics.retention'), hashtext($1)) as ours`,
      [subject],
    );
    return rows[0]?.ours === true ? work(client) : otherwise;
  });
}
