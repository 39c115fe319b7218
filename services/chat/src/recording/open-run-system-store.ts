import type { Pool } from '@gatehouse/pg/pool';
import { only } from '@gatehouse/pg/rows';

/** The runs of these agents that are under way. */
export async function countOpenRuns(
  pool: Pool,
  tenantId: string,
  agentIds: readonly string[],
): Promise<number> {
  const counted = await pool.query<{ count: number }>(
    `select count(*)::integer as count from chat.runs_under_way
     where tenant_id = $1 and run::json->>'agent_id' = any ($2::text[])`,
    [tenantId, agentIds],
  );
  return only(counted).count;
}
