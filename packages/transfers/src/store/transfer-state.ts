import type { OldRows } from '@gatehouse/pg/clean-up-store';
import type { Queryable } from '@gatehouse/pg/pool';
import type { Transfer } from '../transfer.ts';

/** How far a transfer is in a service. */
export type TransferState = 'open' | 'committed' | 'aborted';

/**
 * Does `work` on the rows of the target: before and after, the transaction of a step sees and changes those of the
 * source. An error ends the transaction.
 */
export async function inTarget<Result>(
  db: Queryable,
  { sourceTenantId, targetTenantId }: Transfer,
  work: () => Promise<Result>,
): Promise<Result> {
  await actAs(db, targetTenantId);
  const result = await work();
  await actAs(db, sourceTenantId);
  return result;
}

async function actAs(db: Queryable, tenantId: string): Promise<void> {
  await db.query(`select set_config('gatehouse.tenant_id', $1, true)`, [tenantId]);
}

/** Locks the record of a transfer, which begins with its first step. The transaction sees what the transfer hides. */
export async function enterTransfer(
  db: Queryable,
  service: string,
  { id, sourceTenantId, targetTenantId }: Transfer,
): Promise<TransferState> {
  await db.query(`select set_config('gatehouse.transfer_id', $1, true)`, [id]);
  await db.query(
    `insert into ${service}.transfers (id, source_tenant_id, target_tenant_id) values ($1, $2, $3) on conflict do nothing`,
    [id, sourceTenantId, targetTenantId],
  );
  const { state } = await db.one<{ state: TransferState }>(
    `select state from ${service}.transfers where id = $1 for update`,
    [id],
  );
  return state;
}

export async function setState(
  db: Queryable,
  service: string,
  { id }: Transfer,
  state: TransferState,
): Promise<void> {
  await db.query(`update ${service}.transfers set state = $2, ended_at = now() where id = $1`, [id, state]);
}

/** The records of a service about transfers that ended at least 30 days ago. */
export function oldTransfers(service: string): OldRows {
  return { table: `${service}.transfers`, where: `ended_at < now() - interval '30 days'` };
}
