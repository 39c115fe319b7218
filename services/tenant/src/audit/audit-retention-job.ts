import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { hourMs, minuteMs } from '@gatehouse/kit/bounds';
import { deleteStrays, dropOldPartition, ensurePartitions } from './audit-partition-system-store.ts';

export interface AuditRetentionOptions {
  /** A pool of `tenant_system`. */
  system: Pool;
  log: Logger;
  /** Undefined: entries stay. */
  days: number | undefined;
}

/** Keeps the partitions of the audit log in rounds. */
export function auditRetention(options: AuditRetentionOptions): PeriodicWork {
  return new PeriodicWork({
    task: 'keep the partitions of the audit log',
    ...{ log: options.log, firstMs: minuteMs, everyMs: 6 * hourMs },
    round: () => keepPartitions(options),
  });
}

/**
 * Creates the monthly partitions of the audit log ahead, and drops one `days` after its last day. Returns whether there
 * may be more.
 */
export async function keepPartitions({ system, log, days }: AuditRetentionOptions): Promise<boolean> {
  await ensurePartitions(system);
  if (days === undefined) return false;
  const partition = await dropOldPartition(system, days);
  if (partition !== null) log.info({ partition }, 'dropped a partition of the audit log');
  const strays = await deleteStrays(system, days);
  return partition !== null || strays > 0;
}
