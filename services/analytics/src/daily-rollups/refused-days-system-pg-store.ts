import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import { lateRefusalDays, refusedBatch } from '../bounds.ts';
import { turnOfRefusals } from '../shared/refused-turn-pg-store.ts';
import type { RefusedDaysStore } from './refused-days-system-store.ts';

/** `pool` acts as `analytics_system`. */
export function refusedDaysPgStore(pool: Pool): RefusedDaysStore {
  return {
    nextTenantsOfRefusals: (...page) => nextTenantsOfRefusals(pool, ...page),
    addUpRefusals: (...tenant) => addUpRefusals(pool, ...tenant),
  };
}

/** Days before are over, and no counts of them are added any more. */
const due = `date_bin('1 day', now() - interval '${lateRefusalDays} days 1 hour', 'epoch')`;

async function nextTenantsOfRefusals(pool: Pool, after: string, limit: number): Promise<string[]> {
  const oldestAfter = (tenantId: string): string =>
    `(select tenant_id, bucket from analytics.refused_usage where not is_day and tenant_id > ${tenantId}
      order by tenant_id, bucket limit 1)`;
  const rows = await pool.all<{ tenant_id: string }>(
    `with recursive oldest as (
       ${oldestAfter('$1')}
       union all
       select next.tenant_id, next.bucket from oldest cross join lateral ${oldestAfter('oldest.tenant_id')} as next
     )
     select tenant_id from oldest where bucket < ${due} limit $2`,
    [after, limit],
  );
  return rows.map((row) => row.tenant_id);
}

async function addUpRefusals(pool: Pool, tenantId: string, zone: string): Promise<number> {
  return withTransaction(pool, async (client) => {
    await client.query('set local statement_timeout = 450');
    await client.query(turnOfRefusals);
    const groups = 'code, model, agent_id, channel, api_key_id';
    const { moved } = await client.one<{ moved: number }>(
      `with moved as (
         delete from analytics.refused_usage where ctid = any(array(
           select ctid from analytics.refused_usage
           where tenant_id = $1 and not is_day and bucket < ${due} order by bucket limit ${refusedBatch}))
         returning bucket, ${groups}, refused
       ), added as (
         insert into analytics.refused_usage (tenant_id, bucket, ${groups}, is_day, refused)
         select $1, greatest(date_trunc('day', bucket, 'UTC'), date_trunc('day', bucket, $2)), ${groups}, true,
                sum(refused)
         from moved group by 2, ${groups}
         on conflict (tenant_id, bucket, ${groups}, dialect, client, user_id, is_day) do update set
           refused = refused_usage.refused + excluded.refused
       )
       select count(*)::integer as moved from moved`,
      [tenantId, zone],
    );
    return moved;
  });
}
