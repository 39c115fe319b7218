import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Pool } from '@gatehouse/pg/pool';
import type { UserDeletion } from '@gatehouse/shell/deletion-inbox';
import type { Shell } from '@gatehouse/shell/shell';
import { deleteOldDeletions } from './forget-system-store.ts';
import { forget } from './forget-user-job.ts';

const everyMs = 3_600_000;

/** Deletions of the data of users. */
export function createForgetting(
  { log }: Shell,
  { system, settleMs }: { system: Pool; settleMs: number | undefined },
) {
  return {
    forgetUser: async (deletion: UserDeletion) => {
      const { traces, completed } = await forget(deletion, { pool: system, settleMs });
      return { counts: { traces }, completed };
    },
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
