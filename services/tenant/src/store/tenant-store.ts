import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { ApiKey } from '../domain/api-key.ts';
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

  /** Its keys that have limits of their own and still work. */
  async findLimitedKeys(tenantId: string): Promise<Pick<ApiKey, 'id' | 'limits' | 'budget'>[]> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<Pick<ApiKey, 'id' | 'limits' | 'budget'>>(
        `select id, limits, budget from tenant.api_keys
         where tenant_id = $1 and (limits is not null or budget is not null)
           and revoked_at is null and (expires_at is null or expires_at > now())`,
        [tenantId],
      );
      return rows;
    });
  }
}
