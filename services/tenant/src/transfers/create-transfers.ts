import type { Shell } from '@gatehouse/shell/shell';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { carryOut } from './carry-out-job.ts';
import type { TransferJobs } from './transfer.ts';
import { TransferParties, type TransferPartiesOptions } from './parties.ts';
import type { Participants } from '../shared/clients.ts';
import { describeTransferAt, isBusyAt, runStepAt, unusableModelsAt } from './participants-client.ts';
import { oldPreviews } from './preview-store.ts';
import { transferHandlers } from './transfer-handlers.ts';
import { transferPreviewHandlers } from './transfer-preview-handlers.ts';
import { oldTransfers, TransferSystemStore } from './transfer-system-store.ts';
import { transferUpkeep } from './transfer-upkeep-job.ts';
import { readVisible } from './transfer-store.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';

export interface TransfersOptions extends Pick<TransferPartiesOptions, 'findTenant'> {
  jobs: TransferJobs;
  participants: Participants;
}

/** Transfers of resources between tenants. */
export function createTransfers(
  { log, registry }: Shell,
  { app, system, chat, changes, recordChange: record, raise, keyRing }: BaseDependencies,
  { jobs, participants, findTenant }: TransfersOptions,
) {
  const describe = describeTransferAt(participants);
  const parties = new TransferParties({ findTenant, describe, unusable: unusableModelsAt(chat) });
  const read = readVisible({ app, system });
  const transfers = new TransferSystemStore(system, { jobs, record, raise, keyRing });
  return {
    handlers: {
      ...transferPreviewHandlers({ parties, read, changes }),
      ...transferHandlers({ parties, read, jobs, changes }),
    },
    jobs: {
      transfer: carryOut({ transfers, runStep: runStepAt(participants), isBusy: isBusyAt(chat) }),
    },
    parts: [
      ...transferUpkeep({ transfers, log, registry }),
      ...cleanUp(log, system, [oldTransfers, oldPreviews]),
    ],
  };
}
