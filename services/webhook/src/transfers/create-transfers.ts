import { cleanUp } from '@gatehouse/pg/clean-up-store';
import type { Shell } from '@gatehouse/shell/shell';
import { runStep } from '@gatehouse/transfers/run-step';
import { oldTransfers } from '@gatehouse/transfers/store/transfer-state';
import type { ChannelAdapters } from '../channels/adapters.ts';
import { ConversationQueue } from '../conversations/conversation-queue-store.ts';
import type { Ground } from '../ground.ts';
import { describeTransfer } from './describe-transfer-rpc.ts';
import { Moves } from './moves-store.ts';
import { WebhookTransferStore } from './transfer-store.ts';
import { WebhookSteps } from './webhook-steps-rpc.ts';

/** Endpoints and channels moving to another tenant. */
export function createTransfers({ log }: Shell, options: Ground & { adapters: ChannelAdapters }) {
  const { app, system, jobs, keyRing, secrets, adapters } = options;
  const moves = new Moves({ keyRing, jobs, conversations: new ConversationQueue(jobs), log });
  return {
    rpcs: {
      describe: describeTransfer(new WebhookTransferStore(app), adapters),
      runStep: runStep({
        service: 'webhook',
        app,
        steps: new WebhookSteps({ adapters, secrets, moves }).steps,
      }),
    },
    parts: cleanUp(log, system, [oldTransfers('webhook')]),
  };
}
