import type { Changes } from '@gatehouse/audited-changes/changes';
import type { Jobs } from '@gatehouse/jobs/jobs';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { Shell } from '@gatehouse/shell/shell';
import { DeletionStore } from './deletion-store.ts';
import { DeletionSystemStore } from './deletion-system-store.ts';
import { deletionHandlers, type deletionTasks } from './deletion-tasks.ts';
import { deletionUpkeep } from './deletion-upkeep.ts';
import { userDataHandlers } from './user-data-handlers.ts';
import type { Participants } from '../shared/clients.ts';
import { forgetUserAt } from './user-data-peer.ts';

export interface DeletionsOptions {
  app: Pool;
  system: Pool;
  jobs: Jobs<typeof deletionTasks>;
  participants: Participants;
  keyRing: KeyRing;
  changes: Changes;
}

/** Deletions of the data of users, in every service. */
export function createDeletions({ log, registry }: Shell, options: DeletionsOptions) {
  const { app, system, jobs, participants, keyRing, changes } = options;
  const deletions = new DeletionStore(app, jobs);
  const ofAll = new DeletionSystemStore(system, jobs);
  return {
    handlers: userDataHandlers({ deletions, jobs, keyRing, changes }),
    jobs: deletionHandlers(deletions, forgetUserAt(participants)),
    parts: deletionUpkeep({
      resume: () => ofAll.resume(),
      deleteOld: () => ofAll.deleteOld(),
      countOverdue: () => ofAll.countOverdue(),
      findOverdue: () => ofAll.findOverdue(),
      log,
      registry,
    }),
  };
}
