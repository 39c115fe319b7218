import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';

const everyMs = 3_600_000;

export interface LimitCleanupOptions {
  /** Deletes a batch of outdated rows of leases and settlements. Returns whether there are more. */
  deleteOld: () => Promise<boolean>;
  /** Tenants whose zone of budgets PostgreSQL does not know. */
  findUnknownTimezones: () => Promise<readonly { id: string; timezone: string }[]>;
  log: Logger;
}

/** Deletes outdated rows of limits, and logs tenants whose time zone PostgreSQL does not know. */
export function limitCleanup({ deleteOld, findUnknownTimezones, log }: LimitCleanupOptions): PeriodicWork[] {
  return [
    new PeriodicWork({ task: 'delete old settlements', log, everyMs, round: deleteOld }),
    new PeriodicWork({
      task: 'check the time zones of tenants',
      log,
      everyMs,
      round: async () => {
        for (const { id, timezone } of await findUnknownTimezones())
          log.warn(
            { tenant_id: id, timezone },
            'time zone unknown to PostgreSQL: budgets of the tenant use UTC',
          );
        return false;
      },
    }),
  ];
}
