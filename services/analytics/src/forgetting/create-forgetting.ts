import { cleanUp } from '@gatehouse/pg/clean-up-store';
import type { Pool } from '@gatehouse/pg/pool';
import type { UserDeletion } from '@gatehouse/shell/deletion-inbox';
import type { Shell } from '@gatehouse/shell/shell';
import { oldDeletions } from './forget-system-store.ts';
import { forget } from './forget-user-job.ts';

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
    parts: cleanUp(log, system, [oldDeletions]),
  };
}
