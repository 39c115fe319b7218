import type { Changes, RecordChange } from '@gatehouse/audited-changes/changes';
import type { RpcClient } from '@gatehouse/grpc/client';
import type { Pool } from '@gatehouse/pg/pool';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import type { ParticipantServiceClient } from '@gatehouse/proto/participant/v1/participant';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import type { Shell } from '@gatehouse/shell/shell';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import type { Tenant } from '../tenants/tenant.ts';
import { carryOut, type TransferService } from './carry-out-job.ts';
import type { TransferJobs } from './transfer.ts';
import { TransferParties } from './parties.ts';
import { describeTransferAt, isBusyAt, runStepAt, unusableModelsAt } from './participants-client.ts';
import { oldPreviews } from './preview-store.ts';
import { transferHandlers } from './transfer-handlers.ts';
import { transferPreviewHandlers } from './transfer-preview-handlers.ts';
import { oldTransfers, TransferSystemStore } from './transfer-system-store.ts';
import { transferUpkeep } from './transfer-upkeep-job.ts';
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
    parts: [
      ...transferUpkeep({ transfers, log, registry }),
      ...cleanUp(log, system, [oldTransfers, oldPreviews]),
    ],
  };
}
