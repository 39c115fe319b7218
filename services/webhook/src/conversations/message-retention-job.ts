import { isOutage } from '@gatehouse/grpc/errors';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { cleanUpMs, minuteMs } from '@gatehouse/kit/bounds';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import type { TenantRetention } from '@gatehouse/shell/tenant-retention';
import { batchRows } from '../bounds.ts';
import { nextTenantOfMessages } from './conversation-system-store.ts';
import type { MessageStore } from './message-store.ts';

export interface MessageRetentionOptions {
  system: Pool;
  messages: MessageStore;
  log: Logger;
  tenants: { retention: Pick<TenantRetention, 'daysOf'> };
  /** Until the first round. Shorter in tests. */
  retentionFirstMs?: number | undefined;
}

const beforeAll = '00000000-0000-0000-0000-000000000000';
/** The shortest retention of a tenant: with younger messages only, it isn't read. */
const leastDays = 1;

/**
 * Deletes messages of channels older than the current retention of their tenant. A failure of one tenant is
 * logged, and does not stop the others; in an outage of the tenant service messages stay until a later round.
 */
export function messageRetention(options: MessageRetentionOptions): PeriodicWork {
  const { system, log, retentionFirstMs: firstMs = minuteMs } = options;
  const task = 'delete old messages of channels';
  const round = async (signal: AbortSignal): Promise<boolean> => {
    for (let after = beforeAll; !signal.aborted;) {
      const next = await nextTenantOfMessages(system, after);
      if (next === null) break;
      after = next.tenantId;
      if (next.oldestDays < leastDays) continue;
      try {
        await sweepTenant(options, after, signal);
      } catch (err) {
        log.warn({ err, tenant_id: after }, `failed to ${task}`);
        if (isOutage(err)) break;
      }
    }
    return false;
  };
  return new PeriodicWork({ task, log, firstMs, everyMs: cleanUpMs, round });
}

async function sweepTenant(
  { messages, tenants }: MessageRetentionOptions,
  tenantId: string,
  signal: AbortSignal,
): Promise<void> {
  const days = await tenants.retention.daysOf(tenantId);
  if (days === null) return;
  let deleted: number;
  do deleted = await messages.deleteOld({ tenantId, days }, batchRows);
  while (deleted === batchRows && !signal.aborted);
}
