import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { hourMs, minuteMs } from '@gatehouse/kit/bounds';
import type { Logger } from '@gatehouse/kit/log';
import { userDigest } from '@gatehouse/kit/user-digest';
import type { Pool } from '@gatehouse/pg/pool';
import { usersIn } from '@gatehouse/pg/user-scan';
import { completedDeletions, forgetLateRefusals } from './forget-system-pg-store.ts';

const tables = ['analytics.refused_requests', 'analytics.refused_usage'];

/**
 * Removes users from refused requests whose deletion is completed: during an upgrade, a replica of 0.3.0, which does not
 * know refused requests, may complete it.
 */
export class LateRefusals {
  readonly #pool: Pool;
  readonly part: PeriodicWork;

  /** `pool` acts as `analytics_system`. */
  constructor(pool: Pool, log: Logger) {
    this.#pool = pool;
    this.part = new PeriodicWork({
      ...{ task: 'remove deleted users from refused requests', log, firstMs: minuteMs, everyMs: hourMs },
      round: async (signal) => {
        await this.sweep(signal);
        return false;
      },
    });
  }

  /** One round. Throws when `signal` aborts. */
  async sweep(signal?: AbortSignal): Promise<void> {
    const deletions = Map.groupBy(await completedDeletions(this.#pool), ({ tenantId }) => tenantId);
    for (const [tenantId, tenantDeletions] of deletions) {
      const untilOf = new Map(tenantDeletions.map(({ digest, until }) => [digest.toString('hex'), until]));
      for (const table of tables)
        for await (const users of usersIn(this.#pool, table, tenantId)) {
          signal?.throwIfAborted();
          for (const userId of users) {
            const until = untilOf.get(userDigest(tenantId, userId).toString('hex'));
            if (until !== undefined) await forgetLateRefusals(this.#pool, { tenantId, userId }, until);
          }
        }
    }
  }
}
