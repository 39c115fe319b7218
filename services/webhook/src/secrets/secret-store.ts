import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { upkeepBatch } from '../shared/upkeep.ts';
import { forgetExpired } from './rotation-store.ts';
import { findExpiredSecrets } from './secret-system-store.ts';

/**
 * Deletes secrets that were replaced, once they are no longer used beside the new ones. Returns whether there may be
 * more.
 */
export async function forgetSecrets({ app, system }: { app: Pool; system: Pool }): Promise<boolean> {
  const expired = await findExpiredSecrets(system, upkeepBatch);
  for (const { tenantId, table, id } of expired)
    await withTenant(app, tenantId, (db) => forgetExpired(db, table, id));
  return expired.length >= upkeepBatch;
}
