import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { GroupBounds, GroupedRuns, GroupRunsStore, RunGrouping } from './group-runs-store.ts';

/** `pool` acts as `analytics_app`. */
export function groupRunsPgStore(pool: Pool): GroupRunsStore {
  return { groupRuns: (...request) => groupRuns(pool, ...request) };
}

async function groupRuns(
  pool: Pool,
  tenantId: string,
  { days, by, period, timezone }: RunGrouping,
  { maxRuns, maxGroups }: GroupBounds,
): Promise<{ groups: GroupedRuns[]; isCut: boolean }> {
  const rows = await withTenant(pool, tenantId, (db) =>
    db.all<GroupedRuns & { isCut: boolean }>(
      `with runs as materialized (
         select user_id, groups, agent_id, api_key_id, session_id, model, cost_pico, ended_at from analytics.traces
         where tenant_id = $1 and ended_at >= now() - make_interval(days => $2)
           and id >= analytics.first_id_at(date_trunc('month', now() - make_interval(days => $2 + 1), 'UTC'))
         order by ended_at desc limit $3
       )
       select case when $5 then user_id end as "userId", case when $6 then groups end as groups,
         case when $7 then agent_id end as "agentId", case when $8 then api_key_id end as "apiKeyId",
         case when $9 then session_id end as "sessionId", case when $10 then model end as model,
         case when $11::text is null then 0 else floor(extract(epoch from date_trunc($11, ended_at, $12)) * 1000)::float8 end
           as "windowStart",
         count(*)::integer as runs, coalesce(sum(cost_pico), 0)::text as "costPico",
         (select count(*) from runs) >= $3 as "isCut"
       from runs group by 1, 2, 3, 4, 5, 6, 7 order by coalesce(sum(cost_pico), 0) desc limit $4`,
      [
        ...[tenantId, days, maxRuns, maxGroups + 1],
        ...[by.user, by.groups, by.agent, by.apiKey, by.session, by.model],
        ...[period, period === 'hour' ? 'UTC' : timezone],
      ],
    ),
  );
  return { groups: rows, isCut: rows[0]?.isCut ?? false };
}
