import type { Pool } from '@gatehouse/pg/pool';
import { hasExpired, replacedTables } from './rotation-store.ts';
import type { SecretPlace } from './webhook-secrets.ts';

/** Up to `limit` rows of each table, of any tenant, with replaced secrets that are no longer used. */
export async function findExpiredSecrets(
  pool: Pool,
  limit: number,
): Promise<Pick<SecretPlace, 'tenantId' | 'table' | 'id'>[]> {
  const { rows } = await pool.query<Pick<SecretPlace, 'tenantId' | 'table' | 'id'>>(
    replacedTables
      .map(
        (table) => `(select tenant_id as "tenantId", '${table}' as "table", id from webhook.${table}
          where ${hasExpired(table)} limit $1)`,
      )
      .join(' union all '),
    [limit],
  );
  return rows;
}
