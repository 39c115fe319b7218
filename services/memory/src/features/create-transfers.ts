import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/service/shell';
import { runStep } from '@gatehouse/transfers/run-step';
import { transferUpkeep } from '@gatehouse/transfers/upkeep';
import type { RequestJobs } from '../jobs/background-jobs.ts';
import type { Peers } from '../peers/peers.ts';
import { describeTransfer } from '../rpc/describe-transfer.ts';
import { TransferStore } from '../store/transfers/transfer-store.ts';
import { MemorySteps } from '../transfers/memory-steps.ts';

export interface TransfersOptions {
  app: Pool;
  jobs: Pool;
  system: Pool;
  peers: Peers;
  requestJob: RequestJobs;
}

/** The part of memory in transfers between tenants. */
export function createTransfers({ log }: Shell, options: TransfersOptions) {
  const { app, jobs, system, requestJob } = options;
  const { limits } = options.peers;
  const { steps } = new MemorySteps({
    limitsOf: (tenantId) => limits.of(tenantId),
    requestEmbeddings: requestJob('embed'),
    requestReindex: requestJob('reindex'),
    requestRemoval: requestJob('remove'),
  });
  return {
    rpcs: {
      describe: describeTransfer(new TransferStore(app), limits),
      runStep: runStep({ service: 'memory', app: jobs, steps }),
    },
    parts: [transferUpkeep('memory', { system, log })],
  };
}
