import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { upkeepBatch } from '../shared/upkeep.ts';
import { forgetExpired } from './rotation-statements.ts';
import type { SealedSecret } from './sealed-secret.ts';
import { findExpiredSecrets } from './secret-system-store.ts';

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

/**
 * Deletes secrets that were replaced, once they are no longer used beside the new ones. Returns whether there may be
 * more.
 */
export async function forgetSecrets({ app, system }: { app: Pool; system: Pool }): Promise<boolean> {
  const found = await findExpiredSecrets(system, upkeepBatch);
  for (const { tenantId, table, id } of found)
    await withTenant(app, tenantId, (db) => forgetExpired(db, table, id));
  return found.length >= upkeepBatch;
}
