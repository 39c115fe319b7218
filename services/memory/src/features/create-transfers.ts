import type { Shell } from '@gatehouse/shell/shell';
import { runStep } from '@gatehouse/transfers/run-step';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { oldTransfers } from '@gatehouse/transfers/store/transfer-state';
import { describeTransfer } from '../rpc/describe-transfer.ts';
import { TransferStore } from '../store/transfers/transfer-store.ts';
import { MemorySteps } from '../transfers/memory-steps.ts';
import type { Ground } from './ground.ts';

/** The part of memory in transfers between tenants. */
export function createTransfers({ log }: Shell, options: Ground) {
  const { app, jobs, system, requestJob } = options;
  const { limits } = options.peers;
  const { steps } = new MemorySteps({
    limitsOf: (tenantId) => limits.limitsOf(tenantId),
    requestEmbeddings: requestJob('embed'),
    requestReindex: requestJob('reindex'),
    requestRemoval: requestJob('remove'),
  });
  return {
    rpcs: {
      describe: describeTransfer(new TransferStore(app), limits),
      runStep: runStep({ service: 'memory', app: jobs, steps }),
    },
    parts: cleanUp(log, system, [oldTransfers('memory')]),
  };
}
