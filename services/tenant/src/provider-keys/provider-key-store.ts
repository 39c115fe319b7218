import type { PageRequest } from '@gatehouse/kit/page';
import { type Queryable, withTenant } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { NewProviderKey, ProviderKey } from './provider-key.ts';

/** The checks of a tenant's new keys in the current minute, and when it ends. */
export interface KeyChecks {
  count: number;
  endsInMs: number;
}

/** The own keys of one tenant at a time. `pool` acts as `tenant_app`. */
export class ProviderKeyStore extends Store {
  /** Newest first, one more than `limit` when there are more. */
  async list(tenantId: string, page: PageRequest): Promise<ProviderKey[]> {
    return this.tenant(tenantId).all<ProviderKey>(
      `select ${providerKeyColumns} from tenant.provider_keys
         where tenant_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3`,
      [tenantId, page.before, page.limit + 1],
    );
  }

  /** Counts a check of a new key. */
  async countCheck(tenantId: string): Promise<KeyChecks> {
    return withTenant(
      this.pool,
      tenantId,
      async (db) =>
        await db.one<KeyChecks>(
          `insert into tenant.provider_key_checks as known (tenant_id, minute, checks)
           values ($1, date_trunc('minute', now()), 1)
           on conflict (tenant_id) do update set minute = greatest(known.minute, excluded.minute),
             checks = case when known.minute >= excluded.minute then known.checks + 1 else 1 end
           returning checks as count,
             extract(epoch from minute + interval '1 minute' - now())::float8 * 1000 as "endsInMs"`,
          [tenantId],
        ),
    );
  }
}

/** Statements on a tenant's own keys for providers. The connection acts as `tenant_app`. */

export const providerKeyColumns = `
  id, tenant_id as "tenantId", provider, prefix, models, user_id as "userId", failing, created_at as "createdAt",
  last_used_at as "lastUsedAt"`;

export async function insertProviderKey(db: Queryable, key: NewProviderKey): Promise<ProviderKey> {
  return db.one<ProviderKey>(
    `insert into tenant.provider_keys (id, tenant_id, provider, key, prefix, models, user_id)
     values ($1, $2, $3, $4, $5, $6, $7) returning ${providerKeyColumns}`,
    [key.id, key.tenantId, key.provider, key.sealed, key.prefix, key.models, key.userId],
  );
}

/** The number of keys of a tenant. The tenant's other changes wait until the transaction ends. */
export async function countProviderKeys(db: Queryable, tenantId: string): Promise<number> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`provider keys ${tenantId}`]);
  return (
    await db.one<{ count: number }>(
      'select count(*)::integer as count from tenant.provider_keys where tenant_id = $1',
      [tenantId],
    )
  ).count;
}

/** Null when the connection doesn't reach the key. */
export async function deleteProviderKey(db: Queryable, id: string): Promise<ProviderKey | null> {
  return db.first<ProviderKey>(
    `delete from tenant.provider_keys where id = $1 returning ${providerKeyColumns}`,
    [id],
  );
}

/** Deletes the keys for a user. */
export async function forgetProviderKeys(
  db: Queryable,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<void> {
  await db.query('delete from tenant.provider_keys where tenant_id = $1 and user_id = $2', [
    tenantId,
    userId,
  ]);
}
