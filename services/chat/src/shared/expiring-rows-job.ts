import { isOutage } from '@gatehouse/grpc/errors';
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
   * While it can't be read, and by default, rows stay until they expire or are too many.
   */
  retentionDays?: (tenantId: string) => Promise<number | null>;
  /** Shorter in tests. */
  firstMs?: number | undefined;
}

/**
 * Deletes expired rows, and of each tenant those beyond its retention and the oldest of too many. A failure of one tenant
 * is logged, and does not stop the others. During an outage of the tenant service, a round asks for no further retention.
 */
export function expiringRows(options: ExpiringRowsOptions): PeriodicWork {
  const { pool, log, table, firstMs = minuteMs } = options;
  const task = `delete old rows of ${table}`;
  return new PeriodicWork({
    ...{ task, log, firstMs, everyMs: cleanUpMs },
    round: async (signal) => {
      const expired = { table, where: 'expires_at <= now()', order: 'expires_at' };
      if ((await deleteOldRows(pool, expired, batchSize)) === batchSize) return true;
      const daysOf = retentions(options, task);
      for (let tenantId = await nextTenant(pool, table, beforeAll); tenantId !== null;) {
        if (signal.aborted) break;
        const days = await daysOf(tenantId);
        await cleanTenant(options, { tenantId, days }, signal).catch((error: unknown) =>
          log.warn({ err: error, tenant_id: tenantId }, `failed to ${task}`),
        );
        tenantId = await nextTenant(pool, table, tenantId);
      }
      return false;
    },
  });
}

/** The retentions of tenants for one round; null if it can't be read. */
function retentions(
  { log, retentionDays }: ExpiringRowsOptions,
  task: string,
): (tenantId: string) => Promise<number | null> {
  let isAway = false;
  return async (tenantId) => {
    if (retentionDays === undefined || isAway) return null;
    try {
      return await retentionDays(tenantId);
    } catch (err) {
      isAway = isOutage(err);
      log.warn({ err, tenant_id: tenantId }, `failed to read the retention of a tenant to ${task}`);
      return null;
    }
  };
}

async function cleanTenant(
  { pool, table, most }: ExpiringRowsOptions,
  { tenantId, days }: { tenantId: string; days: number | null },
  signal: AbortSignal,
): Promise<void> {
  const upTo = await cutOff(pool, table, { tenantId, most, days });
  if (upTo === null) return;
  let deleted: number;
  do deleted = await deleteOldest(pool, table, { tenantId, upTo, limit: batchSize });
  while (deleted === batchSize && !signal.aborted);
}
