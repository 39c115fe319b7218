import type { MemoryLimits } from '@gatehouse/contract/tenants';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { memoryLimitsOf, type MemoryAmounts } from './memory-limits.ts';
import { findHeld, findLimitRows, readLimits, type LimitsNow } from './limit-statements.ts';

/** The limits of a key, and the zone whose days and months its budget counts. */
export interface LimitsOfKey extends LimitsNow {
  memoryLimits: MemoryAmounts;
  timezone: string;
}

/** The limits of one tenant, read-only. */
export class LimitStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The limits of the tenant and of one of its keys, with the amounts spent and held, and the limits of its memory. */
  async find(tenantId: string, keyId: string): Promise<LimitsOfKey> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const limitRows = await findLimitRows(db, [tenantId, keyId]);
      const held = await findHeld(db, [tenantId, keyId], null);
      const { memoryLimits, timezone } = await findSettings(db, tenantId);
      const limits = await readLimits(db, tenantId, { keyIds: [keyId], limitRows, held });
      return { ...limits, memoryLimits: memoryLimitsOf(memoryLimits), timezone };
    });
  }
}

async function findSettings(
  db: Queryable,
  tenantId: string,
): Promise<{ memoryLimits: MemoryLimits; timezone: string }> {
  const { rows } = await db.query<{ memoryLimits: MemoryLimits; timezone: string }>(
    `select memory_limits as "memoryLimits", tenant.timezone_or_utc(timezone) as timezone
     from tenant.tenants where id = $1`,
    [tenantId],
  );
  return rows[0] ?? { memoryLimits: {}, timezone: 'UTC' };
}
