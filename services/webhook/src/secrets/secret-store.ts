import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { forgetExpired } from './rotation-statements.ts';
import type { SealedSecret } from './secret-system-store.ts';

/** Replaces a secret that has not changed meanwhile. `pool` acts as `webhook_app`. */
export async function replaceSealed(
  pool: Pool,
  { tenantId, table, column, id, sealed }: SealedSecret,
  again: Buffer,
): Promise<void> {
  await withTenant(pool, tenantId, (db) =>
    db.query(`update webhook.${table} set ${column} = $3 where id = $1 and ${column} = $2`, [
      id,
      sealed,
      again,
    ]),
  );
}

/** Deletes the replaced secrets of a row that are no longer used. `pool` acts as `webhook_app`. */
export async function deleteExpiredSecrets(
  pool: Pool,
  { tenantId, table, id }: Pick<SealedSecret, 'tenantId' | 'table' | 'id'>,
): Promise<void> {
  await withTenant(pool, tenantId, (db) => forgetExpired(db, table, id));
}
