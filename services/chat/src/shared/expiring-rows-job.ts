import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { cleanUpMs, minuteMs } from '@gatehouse/kit/bounds';
import type { Logger } from '@gatehouse/kit/log';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import type { Pool } from '@gatehouse/pg/pool';
import {
  deleteOldest,
  nextTenant,
  type RowAmount,
  type ExpiringTable,
} from './expiring-rows-system-store.ts';

/** With each response go the keys of its items, 256 at most. */
const batchSize = 200;
const beforeAll = '00000000-0000-0000-0000-000000000000';

export interface ExpiringRowsOptions {
  pool: Pool;
  log: Logger;
  table: ExpiringTable;
  /** Kept of each tenant: beyond it, the oldest are deleted within ten minutes. */
  most: RowAmount;
  /** Shorter in tests. */
  firstMs?: number | undefined;
}

/** Deletes expired rows, and the oldest of a tenant with too many. */
export function expiringRows({ pool, log, table, most, firstMs = minuteMs }: ExpiringRowsOptions) {
  return new PeriodicWork({
    task: `delete old rows of ${table}`,
    log,
    firstMs,
    everyMs: cleanUpMs,
    round: async () => {
      const expired = { table, where: 'expires_at <= now()', order: 'expires_at' };
      if ((await deleteOldRows(pool, expired, batchSize)) === batchSize) return true;
      for (let tenantId = await nextTenant(pool, table, beforeAll); tenantId !== null;) {
        if ((await deleteOldest(pool, table, { tenantId, most, limit: batchSize })) === batchSize) continue;
        tenantId = await nextTenant(pool, table, tenantId);
      }
      return false;
    },
  });
}
