import type { Changes } from '@gatehouse/audited-changes/changes';
import type { Jobs } from '@gatehouse/jobs/jobs';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { Shell } from '@gatehouse/shell/shell';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import type { TenantConfig } from '../config.ts';
import { DeletionStore } from './deletion-store.ts';
import { DeletionSystemStore, oldDeletions } from './deletion-system-store.ts';
import { deletionSender, takeReceipts } from './deletion-events.ts';
import { deletionHandlers, type deletionTasks } from './deletion-tasks.ts';
import { deletionUpkeep } from './deletion-upkeep-job.ts';
import { userDataHandlers } from './user-data-handlers.ts';

export interface DeletionsOptions {
  config: TenantConfig;
  app: Pool;
  system: Pool;
  jobs: Jobs<typeof deletionTasks>;
  keyRing: KeyRing;
  changes: Changes;
}

/** Deletions of the data of users, in every service. */
export function createDeletions(shell: Shell, options: DeletionsOptions) {
  const { log, registry } = shell;
  const { config, app, system, jobs, keyRing, changes } = options;
  const deletions = new DeletionStore(app);
  takeReceipts(shell, config, (receipt) => deletions.record(receipt));
  return {
    handlers: userDataHandlers({ deletions, jobs, keyRing, changes }),
    jobs: deletionHandlers((part) => deletions.open(part), deletionSender(shell, config)),
    parts: [
      ...deletionUpkeep({ deletions: new DeletionSystemStore(system, jobs), log, registry }),
      ...cleanUp(log, system, [oldDeletions]),
    ],
  };
}
