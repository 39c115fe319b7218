import type { Role, Scope } from '@gatehouse/contract/scopes';
import type { TenantStatus } from '@gatehouse/contract/tenants';
import { AppError } from '@gatehouse/kit/errors';
import { withTransaction, type Changed, type Conclude, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { ApiKey, ApiKeyStatus, NewApiKey } from '../domain/api-key.ts';
import type { Credentials } from '../domain/authentication.ts';
import type { PageRequest } from './api-key-store.ts';
import { apiKeyColumns, insertApiKey, revokeApiKey } from './api-key-statements.ts';

/** A key as `Authenticate` needs it: what to check, and what to answer. */
export interface KeyToAuthenticate extends Credentials {
  id: string;
  tenantId: string | null;
  tenantSlug: string | null;
  tenantStatus: TenantStatus | null;
  role: Role;
  scopes: readonly Scope[];
  userId: string | null;
  expiresAt: Date | null;
  /** Whether the last noted use is more than a minute ago. */
  lastUseIsStale: boolean;
}

export interface ApiKeyFilter extends PageRequest {
  roles: readonly Role[];
  tenantId: string | null;
  status: ApiKeyStatus | null;
  unusedSince: string | null;
}

/** API keys of all tenants and of owners: for authentication and the owner. */
export class ApiKeySystemStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_system`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** One query, by the public half of a key's text. */
  async findToAuthenticate(keyId: string): Promise<KeyToAuthenticate | null> {
    const { rows } = await this.#pool.query<KeyToAuthenticate>(
      `select
         k.id, k.tenant_id as "tenantId", t.slug as "tenantSlug", t.status as "tenantStatus", k.role, k.scopes,
         k.user_id as "userId", k.expires_at as "expiresAt", k.secret_sha256 as "secretSha256",
         case when k.previous_valid_until > now() then k.previous_secret_sha256 end as "previousSecretSha256",
         k.revoked_at is not null as revoked,
         coalesce(k.expires_at <= now(), false) as expired,
         coalesce(k.last_used_at < now() - interval '1 minute', true) as "lastUseIsStale"
       from tenant.api_keys k left join tenant.tenants t on t.id = k.tenant_id
       where k.key_id = $1`,
      [keyId],
    );
    return rows[0] ?? null;
  }

  /** Writes once a minute at most, however many replicas call it. */
  async touch(id: string): Promise<void> {
    await this.#pool.query(
      `update tenant.api_keys set last_used_at = now()
       where id = $1 and coalesce(last_used_at < now() - interval '1 minute', true)`,
      [id],
    );
  }

  /** Newest first, one more than `limit` when there are more. */
  async list(filter: ApiKeyFilter): Promise<ApiKey[]> {
    const { rows } = await this.#pool.query<ApiKey>(
      `select ${apiKeyColumns} from tenant.api_keys
       where role = any($1)
         and ($2::uuid is null or tenant_id = $2)
         and ($3::text is null or tenant.api_key_status(api_keys) = $3)
         and ($4::timestamptz is null or coalesce(last_used_at < $4, true))
         and ($5::uuid is null or id < $5)
       order by id desc limit $6`,
      [filter.roles, filter.tenantId, filter.status, filter.unusedSince, filter.before, filter.limit + 1],
    );
    return rows;
  }

  async insert<Result>(key: NewApiKey, conclude: Conclude<ApiKey, Result>): Promise<Result> {
    return withTransaction(this.#pool, async (db) => conclude(db, await insertApiKey(db, key)));
  }

  /**
   * Inserts the platform's first owner key. Null when there is an active owner key already, unless `force`; of two at
   * once one wins.
   */
  async insertFirstOwnerKey<Result>(
    key: NewApiKey,
    { force }: { force: boolean },
    conclude: Conclude<ApiKey, Result>,
  ): Promise<Result | null> {
    return withTransaction(this.#pool, async (db) => {
      await lockBootstrap(db);
      if (!force && (await lockActiveOwnerKeys(db)).length > 0) return null;
      return conclude(db, await insertApiKey(db, key));
    });
  }

  /** Revokes any key but the last active owner key: without one nobody could make another. */
  async revoke<Result>(id: string, conclude: Conclude<Changed<ApiKey>, Result>): Promise<Result | null> {
    return withTransaction(this.#pool, async (db) => {
      const [owner, ...others] = await lockActiveOwnerKeys(db);
      if (owner === id && others.length === 0) {
        throw new AppError(
          'last_owner_key',
          'This is the last active owner key. Create another one before you revoke it.',
        );
      }
      const changed = await revokeApiKey(db, id);
      return changed === null ? null : conclude(db, changed);
    });
  }
}

/** Ids of the active owner keys, which no other transaction can end meanwhile. */
async function lockActiveOwnerKeys(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id from tenant.api_keys
     where role = 'owner' and tenant.api_key_status(api_keys) in ('active', 'expiring')
     order by id for update`,
  );
  return rows.map((row) => row.id);
}

async function lockBootstrap(db: Queryable): Promise<void> {
  await db.query(`select pg_advisory_xact_lock(hashtextextended('gatehouse.tenant.bootstrap', 0))`);
}
