import type { PageRequest } from '@gatehouse/kit/page';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { ApiKey } from './api-key.ts';
import { apiKeyColumns } from './api-key-statements.ts';

/** The API keys of one tenant at a time. Another tenant's key is treated as missing. */
export class ApiKeyStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Newest first, one more than `limit` when there are more. */
  async list(tenantId: string, page: PageRequest & { userId: string | null }): Promise<ApiKey[]> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<ApiKey>(
        `select ${apiKeyColumns} from tenant.api_keys
         where tenant_id = $1 and ($2::uuid is null or id < $2) and ($4::text is null or user_id = $4)
         order by id desc limit $3`,
        [tenantId, page.before, page.limit + 1, page.userId],
      );
      return rows;
    });
  }

  async find(tenantId: string, id: string): Promise<ApiKey | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<ApiKey>(`select ${apiKeyColumns} from tenant.api_keys where id = $1`, [
        id,
      ]);
      return rows[0] ?? null;
    });
  }
}
