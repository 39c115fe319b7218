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

  /** The tenant, with at most `maxKeys` of its working keys that have limits of their own, newest first. */
  async find(
    tenantId: string,
    maxKeys: number,
  ): Promise<{ tenant: Tenant; limitedKeys: LimitedKey[]; someKeyLimited: boolean } | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<Tenant & { someKeyLimited: boolean }>(
        `select ${tenantColumns}, exists (
           select from tenant.api_keys
           where tenant_id = $1 and (limits is not null or budget is not null)) as "someKeyLimited"
         from tenant.tenants where id = $1`,
        [tenantId],
      );
      const [found] = rows;
      if (found === undefined) return null;
      const { someKeyLimited, ...tenant } = found;
      const limitedKeys = someKeyLimited && maxKeys > 0 ? await findLimitedKeys(db, tenantId, maxKeys) : [];
      return { tenant, limitedKeys, someKeyLimited };
    });
  }

  /** Null when the tenant has no such key. */
  async findLimitedKey(tenantId: string, id: string): Promise<LimitedKey | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<LimitedKey>(
        'select id, limits, budget from tenant.api_keys where id = $1 and tenant_id = $2',
        [id, tenantId],
      );
      return rows[0] ?? null;
    });
  }
}

export type LimitedKey = Pick<ApiKey, 'id' | 'limits' | 'budget'>;

async function findLimitedKeys(db: Queryable, tenantId: string, limit: number): Promise<LimitedKey[]> {
  const { rows } = await db.query<LimitedKey>(
    `select id, limits, budget from tenant.api_keys
     where tenant_id = $1 and (limits is not null or budget is not null)
       and revoked_at is null and (expires_at is null or expires_at > now())
     order by id desc limit $2`,
    [tenantId, limit],
  );
  return rows;
}
