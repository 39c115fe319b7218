import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { findHeld, findLimitRows, readLimits, type LimitsNow } from './limit-statements.ts';

/** The limits of one tenant, read-only. */
export class LimitStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The limits of the tenant and of one of its keys, with the amounts spent and held. */
  async find(tenantId: string, keyId: string): Promise<LimitsNow> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const limitRows = await findLimitRows(db, [tenantId, keyId]);
      const held = await findHeld(db, [tenantId, keyId], null);
      return readLimits(db, tenantId, { keyIds: [keyId], limitRows, held });
    });
  }
}
