import type { Principal } from '@gatehouse/identity/principal';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';

/** Reads rows of transfers that a caller may see: all of them for an owner. */
export type ReadVisible = <Result>(
  caller: Principal,
  work: (db: Queryable) => Promise<Result>,
) => Promise<Result>;

export function readVisible({ app, system }: { app: Pool; system: Pool }): ReadVisible {
  return ({ tenantId }, work) => (tenantId === null ? work(system) : withTenant(app, tenantId, work));
}
