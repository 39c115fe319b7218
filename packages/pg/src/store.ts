import type { QueryResult } from 'pg';
import { verbsOf } from './rows.ts';
import { withTenant, type Pool, type Queryable } from './pool.ts';

/** The base of a store on a pool: the statements are its methods. */
export abstract class Store {
  protected readonly pool: Pool;

  constructor(pool: Pool) {
    this.pool = pool;
  }

  /** Runs each statement in a transaction of the tenant: `this.tenant(tenantId).first(…)`. */
  protected tenant(tenantId: string): Queryable {
    return tenantDb(this.pool, tenantId);
  }
}

/** Runs each statement in a transaction of its own, limited to the rows of the tenant (`withTenant`). */
export function tenantDb(pool: Pool, tenantId: string): Queryable {
  const query = (...input: unknown[]): Promise<QueryResult> =>
    withTenant(pool, tenantId, (db) => db.query(...(input as [string])));
  // Drops the overloads with a callback, which no store uses.
  return { query: query as Queryable['query'], ...verbsOf(query) };
}
