import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { hourMs, minuteMs } from '@gatehouse/kit/bounds';
import type { Logger } from '@gatehouse/kit/log';
import { userDigest } from '@gatehouse/kit/user-digest';
import type { Pool } from '@gatehouse/pg/pool';
import { usersIn } from '@gatehouse/pg/user-scan';
import { deleteRowsOf, recentTombstones } from './forget-system-store.ts';

/**
 * Deletes contents of runs of users whose deletion is completed: during an upgrade, a replica of 0.3.0, which does not
 * know contents, may complete it.
 */
export class LateContents {
  readonly #pool: Pool;
  readonly part: PeriodicWork;

  /** `pool` acts as `chat_system`. */
  constructor(pool: Pool, log: Logger) {
    this.#pool = pool;
    this.part = new PeriodicWork({
      ...{ task: 'delete contents of deleted users', log, firstMs: minuteMs, everyMs: hourMs },
      round: async (signal) => {
        await this.sweep(signal);
        return false;
      },
    });
  }

  /** One round. Throws when `signal` aborts. */
  async sweep(signal?: AbortSignal): Promise<void> {
    const tombstones = Map.groupBy(await recentTombstones(this.#pool, '30 days'), ({ tenantId }) => tenantId);
    for (const [tenantId, tenantDeletions] of tombstones) {
      const untilOf = new Map(
        tenantDeletions.map(({ digest, requestedAtMs }) => [digest.toString('hex'), requestedAtMs]),
      );
      for await (const users of usersIn(this.#pool, 'chat.run_contents', tenantId)) {
        signal?.throwIfAborted();
        for (const userId of users) {
          const untilMs = untilOf.get(userDigest(tenantId, userId).toString('hex'));
          if (untilMs === undefined) continue;
          await deleteRowsOf(this.#pool, 'run_contents', { tenantId, userId, untilMs });
        }
      }
    }
  }
}
