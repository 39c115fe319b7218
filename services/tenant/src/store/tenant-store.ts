import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { Tenant } from '../domain/tenant.ts';
import { tenantColumns } from './tenant-statements.ts';

/** One tenant, as itself. */
export class TenantStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async find(tenantId: string): Promise<Tenant | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<Tenant>(`select ${tenantColumns} from tenant.tenants where id = $1`, [
        tenantId,
      ]);
      return rows[0] ?? null;
    });
  }
}
