import { FairQueue } from '@gatehouse/kit/fair-queue';
import { MinuteCounts } from '@gatehouse/pg/minute-counts';
import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { ChatConfig } from '../config.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import { SignatureOriginStore } from '../reasoning/signature-origin-store.ts';
import { tooMany } from './batch-call-handlers.ts';
import { SealedObjects } from './sealed-object.ts';
import { batchHandlers } from './batch-handlers.ts';
import { BatchPolling, usualPace, type BatchPollingOptions } from './batch-poll-job.ts';
import type { BatchHandlerDependencies } from './batch-start-handlers.ts';
import { FileDeletion } from './file-deletion-job.ts';
import { fileHandlers } from './file-handlers.ts';
import { messageBatchHandlers } from './message-batch-handlers.ts';

export interface BatchesOptions
  extends
    Pick<BatchPollingOptions, 'providers' | 'catalogue' | 'settings' | 'pricing' | 'alerts' | 'pace'>,
    Pick<BatchHandlerDependencies, 'limiter' | 'telemetry' | 'findUser' | 'stops' | 'idempotency'> {
  config: ChatConfig;
  guardrails: Guardrails;
  app: Pool;
  system: Pool;
}

/** Results and files read by clients at a time, each by a connection to a provider. */
const downloadsInFlight = { perKey: 4, slots: 32, maxWaiting: 0, tooMany: tooMany('downloads of files') };

/** Files and batches of requests, which providers answer within a day. */
export function createBatches(
  { log, registry, bodyBudget }: Shell,
  { config, app, system, pace = usualPace, ...options }: BatchesOptions,
) {
  const sealed = new SealedObjects(config.SECRETS_KEYRING);
  const counts = new MinuteCounts(app, 'chat');
  const dependencies = { ...options, pool: app, sealed, counts, log, uploadPace: pace.upload };
  const { firstPauseMs } = pace;
  const downloads = new FairQueue(downloadsInFlight);
  const files = fileHandlers({ ...dependencies, downloads });
  const signatures = new SignatureOriginStore(app);
  const messages = messageBatchHandlers({ ...dependencies, firstPauseMs, bodyBudget, downloads, signatures });
  return {
    rawHandlers: { ...files.rawHandlers, ...messages.rawHandlers },
    handlers: {
      ...files.handlers,
      ...messages.handlers,
      ...batchHandlers({ ...dependencies, firstPauseMs }).handlers,
    },
    parts: [
      new BatchPolling({ ...dependencies, pool: system, registry, pace }),
      new FileDeletion({
        ...{ ...dependencies, pool: system },
        everyMs: pace === usualPace ? undefined : pace.roundMs,
      }),
    ],
  };
}
