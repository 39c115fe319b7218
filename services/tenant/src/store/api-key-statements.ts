import type { Changed, Queryable } from '@gatehouse/pg/pool';
import type { ApiKey, NewApiKey } from '../domain/api-key.ts';

/** What both stores do to keys in the same words: whose rows they reach is the connection's role and tenant. */

export const apiKeyColumns = `
  api_keys.id, api_keys.tenant_id as "tenantId", api_keys.key_id as "keyId", api_keys.name, api_keys.role,
  api_keys.scopes, api_keys.user_id as "userId", api_keys.limits, api_keys.budget,
  tenant.api_key_status(api_keys) as status, api_keys.created_by as "createdBy", api_keys.created_at as "createdAt",
  api_keys.last_used_at as "lastUsedAt", api_keys.expires_at as "expiresAt", api_keys.revoked_at as "revokedAt"`;

export async function insertApiKey(db: Queryable, key: NewApiKey): Promise<ApiKey> {
  const { rows } = await db.query<ApiKey>(
    `insert into tenant.api_keys
       (id, tenant_id, key_id, secret_sha256, name, role, scopes, user_id, limits, budget, expires_at, created_by)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
     returning ${apiKeyColumns}`,
    [
      key.id,
      key.tenantId,
      key.keyId,
      key.secretSha256,
      key.name,
      key.role,
      key.scopes,
      key.userId,
      key.limits,
      key.budget,
      key.expiresAt,
      key.createdBy,
    ],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the insert returned no row');
  return row;
}

/** The key as it is, and stays until the transaction ends. Null when there is none in reach. */
export async function lockApiKey(db: Queryable, id: string): Promise<ApiKey | null> {
  const { rows } = await db.query<ApiKey>(
    `select ${apiKeyColumns} from tenant.api_keys where id = $1 for update`,
    [id],
  );
  return rows[0] ?? null;
}

/** Ends a key; one that is revoked already keeps its time. Null when there is none in reach. */
export async function revokeApiKey(db: Queryable, id: string): Promise<Changed<ApiKey> | null> {
  const before = await lockApiKey(db, id);
  if (before === null) return null;
  const { rows } = await db.query<ApiKey>(
    `update tenant.api_keys set revoked_at = coalesce(revoked_at, now())
     where id = $1
     returning ${apiKeyColumns}`,
    [id],
  );
  const [after] = rows;
  return after === undefined ? null : { before, after };
}
