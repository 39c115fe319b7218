import type { Changes, RecordChange } from '@gatehouse/audited-changes/changes';
import type { RpcClient } from '@gatehouse/grpc/client';
import type { Pool } from '@gatehouse/pg/pool';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import type { ParticipantServiceClient } from '@gatehouse/proto/participant/v1/participant';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import type { Shell } from '@gatehouse/shell/shell';
import type { Tenant } from '../tenants/tenant.ts';
import { carryOut, type TransferService } from './carry-out-job.ts';
import type { TransferJobs } from './transfer.ts';
import { TransferParties } from './parties.ts';
import { describeTransferAt, isBusyAt, runStepAt, unusableModelsAt } from './participants-client.ts';
import { deleteOldPreviews } from './preview-store.ts';
import { transferHandlers } from './transfer-handlers.ts';
import { transferPreviewHandlers } from './transfer-preview-handlers.ts';
import { oldestTransfers, TransferSystemStore } from './transfer-system-store.ts';
import { transferUpkeep } from './transfer-upkeep.ts';
import { readVisible } from './transfer-store.ts';

export interface TransfersOptions {
  app: Pool;
  system: Pool;
  jobs: TransferJobs;
  participants: Readonly<Record<TransferService, RpcClient<ParticipantServiceClient>>>;
  chat: RpcClient<ChatServiceClient>;
  findTenant: (id: string) => Promise<Tenant | null>;
  changes: Changes;
  recordChange: RecordChange;
  raise: RaiseAlert;
}

/** Transfers of resources between tenants. */
export function createTransfers({ log, registry }: Shell, options: TransfersOptions) {
  const { app, system, jobs, participants, chat, findTenant, changes, recordChange: record, raise } = options;
  const describe = describeTransferAt(participants);
  const parties = new TransferParties({ findTenant, describe, unusable: unusableModelsAt(chat) });
  const read = readVisible({ app, system });
  const transfers = new TransferSystemStore(system, { jobs, record, raise });
  return {
    handlers: {
      ...transferPreviewHandlers({ parties, read, changes }),
      ...transferHandlers({ parties, read, jobs, changes }),
    },
    jobs: {
      transfer: carryOut({ transfers, runStep: runStepAt(participants), isBusy: isBusyAt(chat) }),
    },
    parts: transferUpkeep({
      resume: () => transfers.resumeLost(),
      oldest: () => oldestTransfers(system),
      deleteOld: () => transfers.deleteOld(),
      deleteOldPreviews: () => deleteOldPreviews(system),
      log,
      registry,
    }),
  };
}
