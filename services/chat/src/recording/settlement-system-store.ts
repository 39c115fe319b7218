import { maxPico } from '@gatehouse/kit/money';
import type { Pool } from '@gatehouse/pg/pool';
import type { BudgetCharge } from '../runs/run.ts';
import { maxCosts, maxUncharged } from '../bounds.ts';

/** Cost of runs of one tenant and one instance, for the budgets they were reserved in. */
export interface Settlement {
  id: string;
  tenantId: string;
  /** Instance with the reservation for them. */
  holderId: string;
  charges: readonly BudgetCharge[];
  /** Negative where exact costs replace higher estimates. */
  costPico: bigint;
}

type SettlementRow = Omit<Settlement, 'costPico'> & { costPico: string };

const settlementColumns = `id, tenant_id as "tenantId", holder_id as "holderId", charges::json, cost_pico::text as "costPico"`;

/** Matches rows of the instance `$1` and of dead instances. */
const settleable = `(s.holder_id = $1
  or not exists (select from chat.instances i where i.id = s.holder_id and i.dead_at is null))`;

/** Sums the costs of runs of `instanceId` and of dead instances; returns the new settlements. */
export async function makeSettlements(pool: Pool, instanceId: string): Promise<Settlement[]> {
  const { rows } = await pool.query<SettlementRow>(
    `with due as (
       select s.id from chat.run_costs s where ${settleable} order by s.id limit $2
     ), taken as (
       delete from chat.run_costs c where c.id = any (array (select id from due))
       returning c.tenant_id, c.holder_id, c.charges, c.cost_pico
     )
     insert into chat.settlements (tenant_id, holder_id, charges, cost_pico)
     -- Each cost fits the int64 of the call that settles it; the sum of absurd ones must as well.
     select tenant_id, holder_id, charges, greatest(least(sum(cost_pico), ${maxPico}), -${maxPico})
     from taken group by tenant_id, holder_id, charges
     returning ${settlementColumns}`,
    [instanceId, maxCosts],
  );
  return rows.map(toSettlement);
}

/**
 * Settlements of `instanceId` and of dead instances made by an earlier call, by id, above the id `after`; up to
 * `maxUncharged`. Two replicas may return the same one.
 */
export async function findUncharged(pool: Pool, instanceId: string, after: string): Promise<Settlement[]> {
  const { rows } = await pool.query<SettlementRow>(
    `select ${settlementColumns}
     from chat.settlements s where ${settleable} and s.id > $2 order by s.id limit $3`,
    [instanceId, after, maxUncharged],
  );
  return rows.map(toSettlement);
}

function toSettlement(row: SettlementRow): Settlement {
  return { ...row, costPico: BigInt(row.costPico) };
}

/** Deletes charged settlements. */
export async function deleteSettlements(pool: Pool, ids: readonly string[]): Promise<void> {
  await pool.query('delete from chat.settlements where id = any($1::uuid[])', [ids]);
}

/** Dead instances without runs under way or waiting to be settled. */
export async function findReleasable(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select i.id from chat.instances i
     where i.dead_at is not null and i.released_at is null
       and not exists (select from chat.run_log l where l.instance_id = i.id)
       and not exists (select from chat.open_runs r where r.instance_id = i.id)
       and not exists (select from chat.run_costs c where c.holder_id = i.id)
       and not exists (select from chat.settlements s where s.holder_id = i.id)
     limit 100`,
  );
  return rows.map((row) => row.id);
}

export async function markReleased(pool: Pool, instanceIds: readonly string[]): Promise<void> {
  await pool.query('update chat.instances set released_at = now() where id = any($1::uuid[])', [instanceIds]);
}
