import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { hourMs, minuteMs } from '@gatehouse/kit/bounds';
import type { Logger } from '@gatehouse/kit/log';
import { userDigest } from '@gatehouse/kit/user-digest';
import type { ForgetStore } from './forget-system-store.ts';

/**
 * Removes users from refused requests whose deletion is completed: during an upgrade, a replica of 0.3.0, which does not
 * know refused requests, may complete it.
 */
export class LateRefusals {
  readonly #store: ForgetStore;
  readonly part: PeriodicWork;

  constructor(store: ForgetStore, log: Logger) {
    this.#store = store;
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
    const deletions = Map.groupBy(await this.#store.completedDeletions(), ({ tenantId }) => tenantId);
    for (const [tenantId, tenantDeletions] of deletions) {
      const untilOf = new Map(tenantDeletions.map(({ digest, until }) => [digest.toString('hex'), until]));
      for await (const users of this.#store.usersWithRefusals(tenantId)) {
        signal?.throwIfAborted();
        for (const userId of users) {
          const until = untilOf.get(userDigest(tenantId, userId).toString('hex'));
          if (until !== undefined) await this.#store.forgetLateRefusals({ tenantId, userId }, until);
        }
      }
    }
  }
}
