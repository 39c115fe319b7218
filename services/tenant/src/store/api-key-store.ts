import { withTenant, type Changed, type Conclude, type Pool } from '@gatehouse/pg/pool';
import type { ApiKey, NewApiKey } from '../domain/api-key.ts';
import { apiKeyColumns, insertApiKey, lockApiKey, revokeApiKey } from './api-key-statements.ts';

export interface PageRequest {
  limit: number;
  /** Continue below this id; null for the first page. */
  before: string | null;
}

/** The API keys of one tenant at a time. Another tenant's key is as good as none. */
export class ApiKeyStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Newest first, one more than `limit` when there are more. */
  async list(tenantId: string, page: PageRequest): Promise<ApiKey[]> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<ApiKey>(
        `select ${apiKeyColumns} from tenant.api_keys
         where tenant_id = $1 and ($2::uuid is null or id < $2)
         order by id desc limit $3`,
        [tenantId, page.before, page.limit + 1],
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

  async insert<Result>(
    tenantId: string,
    key: Omit<NewApiKey, 'tenantId'>,
    conclude: Conclude<ApiKey, Result>,
  ): Promise<Result> {
    return withTenant(this.#pool, tenantId, async (db) =>
      conclude(db, await insertApiKey(db, { ...key, tenantId })),
    );
  }

  /** Null when there is none. */
  async revoke<Result>(
    tenantId: string,
    id: string,
    conclude: Conclude<Changed<ApiKey>, Result>,
  ): Promise<Result | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const changed = await revokeApiKey(db, id);
      return changed === null ? null : conclude(db, changed);
    });
  }

  /**
   * Gives a key a new secret. The one before it works on for the overlap, and any older one stops now. Null when the
   * key is revoked or expired.
   */
  async rotate<Result>(
    tenantId: string,
    { id, secretSha256, overlapSeconds }: { id: string; secretSha256: Buffer; overlapSeconds: number },
    conclude: Conclude<Changed<ApiKey>, Result>,
  ): Promise<Result | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const before = await lockApiKey(db, id);
      if (before === null) return null;
      const { rows } = await db.query<ApiKey>(
        `update tenant.api_keys set
           secret_sha256 = $2,
           previous_secret_sha256 = case when $3 > 0 then secret_sha256 end,
           previous_valid_until = case when $3 > 0 then now() + make_interval(secs => $3) end
         where id = $1 and tenant.api_key_status(api_keys) in ('active', 'expiring')
         returning ${apiKeyColumns}`,
        [id, secretSha256, overlapSeconds],
      );
      const [after] = rows;
      return after === undefined ? null : conclude(db, { before, after });
    });
  }
}
