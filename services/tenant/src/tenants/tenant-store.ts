import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { ApiKey } from '../keys/api-key.ts';
import type { Tenant } from './tenant.ts';
import { tenantColumns } from './tenant-statements.ts';

/** A tenant's access to its own row. */
export class TenantStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The tenant, with its active keys that have limits of their own: all of them or one, newest first. */
  async find(tenantId: string, keys: { id: string | null; max: number }): Promise<FoundTenant | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<Tenant & Pick<FoundTenant, 'someKeyLimited' | 'hasProviderKeys'>>(
        `select ${tenantColumns}, exists (
           select from tenant.api_keys
           where tenant_id = $1 and (limits is not null or budget is not null)) as "someKeyLimited",
           exists (select from tenant.provider_keys where tenant_id = $1) as "hasProviderKeys"
         from tenant.tenants where id = $1`,
        [tenantId],
      );
      const [found] = rows;
      if (found === undefined) return null;
      const { someKeyLimited, hasProviderKeys, ...tenant } = found;
      const limitedKeys = someKeyLimited && keys.max > 0 ? await findLimitedKeys(db, tenantId, keys) : [];
      return { tenant, limitedKeys, someKeyLimited, hasProviderKeys };
    });
  }
}

export interface FoundTenant {
  tenant: Tenant;
  limitedKeys: LimitedKey[];
  someKeyLimited: boolean;
  /** Whether it has keys of its own for providers. */
  hasProviderKeys: boolean;
}

type LimitedKey = Pick<ApiKey, 'id' | 'limits' | 'budget'>;

async function findLimitedKeys(
  db: Queryable,
  tenantId: string,
  { id, max }: { id: string | null; max: number },
): Promise<LimitedKey[]> {
  const { rows } = await db.query<LimitedKey>(
    `select id, limits, budget from tenant.api_keys
     where tenant_id = $1 and ($2::uuid is null or id = $2) and (limits is not null or budget is not null)
       and revoked_at is null and (expires_at is null or expires_at > now())
     order by id desc limit $3`,
    [tenantId, id, max],
  );
  return rows;
}
