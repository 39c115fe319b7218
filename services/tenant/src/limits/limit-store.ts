import type { MemoryLimits } from '@gatehouse/contract/tenants';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { memoryLimitsOf, type MemoryAmounts } from './memory-limits.ts';
import { findHeld, findLimitRows, readLimits, type LimitsNow } from './limit-statements.ts';

/** The limits of one tenant, read-only. */
export class LimitStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The limits of the tenant and of one of its keys, with the amounts spent and held, and the limits of its memory. */
  async find(tenantId: string, keyId: string): Promise<LimitsNow & { memoryLimits: MemoryAmounts }> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const limitRows = await findLimitRows(db, [tenantId, keyId]);
      const held = await findHeld(db, [tenantId, keyId], null);
      const memoryLimits = memoryLimitsOf(await findMemoryLimits(db, tenantId));
      return { ...(await readLimits(db, tenantId, { keyIds: [keyId], limitRows, held })), memoryLimits };
    });
  }
}

async function findMemoryLimits(db: Queryable, tenantId: string): Promise<MemoryLimits> {
  const { rows } = await db.query<{ limits: MemoryLimits }>(
    'select memory_limits as limits from tenant.tenants where id = $1',
    [tenantId],
  );
  return rows[0]?.limits ?? {};
}
