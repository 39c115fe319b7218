import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { cleanUpMs, minuteMs } from '@gatehouse/kit/bounds';
import type { Logger } from '@gatehouse/kit/log';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import type { Pool } from '@gatehouse/pg/pool';
import {
  cutOff,
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
  /**
   * The current retention of a tenant in days, where older rows are deleted before they expire; null if it is unknown.
   * Default: rows stay until they expire.
   */
  retentionDays?: (tenantId: string) => Promise<number | null>;
  /** Shorter in tests. */
  firstMs?: number | undefined;
}

/**
 * Deletes expired rows, and of each tenant those beyond its retention and the oldest of too many. A failure of one tenant
 * is logged, and does not stop the others.
 */
export function expiringRows(options: ExpiringRowsOptions): PeriodicWork {
  const { pool, log, table, firstMs = minuteMs } = options;
  const task = `delete old rows of ${table}`;
  return new PeriodicWork({
    ...{ task, log, firstMs, everyMs: cleanUpMs },
    round: async (signal) => {
      const expired = { table, where: 'expires_at <= now()', order: 'expires_at' };
      if ((await deleteOldRows(pool, expired, batchSize)) === batchSize) return true;
      for (let tenantId = await nextTenant(pool, table, beforeAll); tenantId !== null;) {
        if (signal.aborted) break;
        await cleanTenant(options, tenantId, signal).catch((error: unknown) =>
          log.warn({ err: error, tenant_id: tenantId }, `failed to ${task}`),
        );
        tenantId = await nextTenant(pool, table, tenantId);
      }
      return false;
    },
  });
}

async function cleanTenant(
  { pool, table, most, retentionDays }: ExpiringRowsOptions,
  tenantId: string,
  signal: AbortSignal,
): Promise<void> {
  const days = (await retentionDays?.(tenantId)) ?? null;
  const upTo = await cutOff(pool, table, { tenantId, most, days });
  if (upTo === null) return;
  let deleted: number;
  do deleted = await deleteOldest(pool, table, { tenantId, upTo, limit: batchSize });
  while (deleted === batchSize && !signal.aborted);
}
