import type { Queryable } from '@gatehouse/pg/pool';
import { only } from '@gatehouse/pg/rows';
import type { NewProviderKey, ProviderKey } from './provider-key.ts';

/** Statements on a tenant's own keys for providers. The connection acts as `tenant_app`. */

export const providerKeyColumns = `
  id, tenant_id as "tenantId", provider, prefix, models, user_id as "userId", failing, created_at as "createdAt",
  last_used_at as "lastUsedAt"`;

export async function insertProviderKey(db: Queryable, key: NewProviderKey): Promise<ProviderKey> {
  const inserted = await db.query<ProviderKey>(
    `insert into tenant.provider_keys (id, tenant_id, provider, key, prefix, models, user_id)
     values ($1, $2, $3, $4, $5, $6, $7) returning ${providerKeyColumns}`,
    [key.id, key.tenantId, key.provider, key.sealed, key.prefix, key.models, key.userId],
  );
  return only(inserted);
}

/** The number of keys of a tenant, whose other changes wait until the transaction ends. */
export async function countProviderKeys(db: Queryable, tenantId: string): Promise<number> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`provider keys ${tenantId}`]);
  const counted = await db.query<{ count: number }>(
    'select count(*)::integer as count from tenant.provider_keys where tenant_id = $1',
    [tenantId],
  );
  return only(counted).count;
}

/** Null when the connection reaches no such key. */
export async function deleteProviderKey(db: Queryable, id: string): Promise<ProviderKey | null> {
  const { rows } = await db.query<ProviderKey>(
    `delete from tenant.provider_keys where id = $1 returning ${providerKeyColumns}`,
    [id],
  );
  return rows[0] ?? null;
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
