import type { Shell } from '@gatehouse/shell/shell';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { DeletionStore, type DeletionJobs } from './deletion-store.ts';
import { DeletionSystemStore, oldDeletions } from './deletion-system-store.ts';
import { deletionSender, takeReceipts } from './deletion-events.ts';
import { deletionHandlers } from './deletion-tasks.ts';
import { deletionUpkeep } from './deletion-upkeep-job.ts';
import { userDataHandlers } from './user-data-handlers.ts';
import { UserStore } from '../users/user-store.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';

/** Deletions of the data of users, in every service. */
export function createDeletions(
  shell: Shell,
  { config, app, system, keyRing, changes }: BaseDependencies,
  jobs: DeletionJobs,
) {
  const { log, registry } = shell;
  const deletions = new DeletionStore(app);
  takeReceipts(shell, config, (receipt) => deletions.record(receipt));
  return {
    handlers: userDataHandlers({ deletions, users: new UserStore(app), jobs, keyRing, changes }),
    jobs: deletionHandlers((part) => deletions.open(part), deletionSender(shell, config)),
    parts: [
      ...deletionUpkeep({ deletions: new DeletionSystemStore(system, jobs), log, registry }),
      ...cleanUp(log, system, [oldDeletions]),
    ],
  };
}
