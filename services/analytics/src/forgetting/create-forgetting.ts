import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/service/shell';
import { deleteOldDeletions } from './forget-system-store.ts';
import { forgetUser } from './forget-user-rpc.ts';

const everyMs = 3_600_000;

/** Deletions of the data of users. */
export function createForgetting(
  { log }: Shell,
  { system, settleMs }: { system: Pool; settleMs: number | undefined },
) {
  return {
    rpcs: { forgetUser: forgetUser({ pool: system, settleMs }) },
    parts: [
      new PeriodicWork({
        task: 'delete old records of deletions',
        log,
        everyMs,
        round: async () => {
          await deleteOldDeletions(system);
          return false;
        },
      }),
    ],
  };
}
