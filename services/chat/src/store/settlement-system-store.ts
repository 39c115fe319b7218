import type { Pool } from '@gatehouse/pg/pool';
import type { BudgetCharge } from '../domain/run.ts';

/** What a run came to, for the budgets that it was reserved in. */
export interface Settlement {
  runId: string;
  tenantId: string;
  holderId: string;
  charges: readonly BudgetCharge[];
  costPico: bigint;
}

interface SettlementRow {
  run_id: string;
  tenant_id: string;
  holder_id: string;
  charges: BudgetCharge[];
  cost_pico: string;
}

/** Those of `instanceId`'s runs, and of instances that are dead. */
export async function findSettlements(pool: Pool, instanceId: string, limit: number): Promise<Settlement[]> {
  const { rows } = await pool.query<SettlementRow>(
    `select s.run_id, s.tenant_id, s.holder_id, s.charges, s.cost_pico::text
     from chat.settlements s
     where s.holder_id = $1
       or not exists (select from chat.instances i where i.id = s.holder_id and i.dead_at is null)
     limit $2`,
    [instanceId, limit],
  );
  return rows.map((row) => ({
    runId: row.run_id,
    tenantId: row.tenant_id,
    holderId: row.holder_id,
    charges: row.charges,
    costPico: BigInt(row.cost_pico),
  }));
}

export async function deleteSettlements(pool: Pool, runIds: readonly string[]): Promise<void> {
  await pool.query('delete from chat.settlements where run_id = any($1::uuid[])', [runIds]);
}

/** Dead instances of whose runs none is under way or waits to be settled. */
export async function findReleasable(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select i.id from chat.instances i
     where i.dead_at is not null and i.released_at is null
       and not exists (select from chat.runs r where r.instance_id = i.id and r.status = 'started')
       and not exists (select from chat.settlements s where s.holder_id = i.id)
     limit 100`,
  );
  return rows.map((row) => row.id);
}

export async function markReleased(pool: Pool, instanceIds: readonly string[]): Promise<void> {
  await pool.query('update chat.instances set released_at = now() where id = any($1::uuid[])', [instanceIds]);
}
