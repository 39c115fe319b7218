import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { forgetExpired, hasExpired, replacedTables } from './rotation-store.ts';
import type { SecretPlace } from './webhook-secrets.ts';
import { batchRows } from '../bounds.ts';

/** Deletes replaced secrets after their time beside the new ones. Returns whether there may be more. */
export async function forgetSecrets({ app, system }: { app: Pool; system: Pool }): Promise<boolean> {
  const { rows: expired } = await system.query<Pick<SecretPlace, 'tenantId' | 'table' | 'id'>>(
    replacedTables
      .map(
        (table) => `(select tenant_id as "tenantId", '${table}' as "table", id from webhook.${table}
          where ${hasExpired(table)} limit $1)`,
      )
      .join(' union all '),
    [batchRows],
  );
  for (const { tenantId, table, id } of expired)
    await withTenant(app, tenantId, (db) => forgetExpired(db, table, id));
  return expired.length >= batchRows;
}
