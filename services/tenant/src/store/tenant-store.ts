import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
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

  /** The tenant, with its keys that have limits of their own and still work. */
  async find(tenantId: string): Promise<{ tenant: Tenant; limitedKeys: LimitedKey[] } | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<Tenant>(`select ${tenantColumns} from tenant.tenants where id = $1`, [
        tenantId,
      ]);
      const [tenant] = rows;
      return tenant === undefined ? null : { tenant, limitedKeys: await findLimitedKeys(db, tenantId) };
    });
  }
}

export type LimitedKey = Pick<ApiKey, 'id' | 'limits' | 'budget'>;

async function findLimitedKeys(db: Queryable, tenantId: string): Promise<LimitedKey[]> {
  const { rows } = await db.query<LimitedKey>(
    `select id, limits, budget from tenant.api_keys
     where tenant_id = $1 and (limits is not null or budget is not null)
       and revoked_at is null and (expires_at is null or expires_at > now())`,
    [tenantId],
  );
  return rows;
}
