import type { Jobs } from '@gatehouse/jobs/jobs';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { Shell } from '@gatehouse/shell/shell';
import { runStep } from '@gatehouse/transfers/run-step';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { oldTransfers } from '@gatehouse/transfers/store/transfer-state';
import type { callTasks } from '../calls/call-tasks.ts';
import { CallTexts } from '../calls/call-texts.ts';
import type { ChannelAdapters } from '../channels/adapters.ts';
import type { channelTasks } from '../channels/channel-tasks.ts';
import { ChannelTexts } from '../conversations/channel-texts.ts';
import { ConversationQueue } from '../conversations/conversation-queue-store.ts';
import type { conversationTasks } from '../conversations/conversation-tasks.ts';
import type { WebhookSecrets } from '../secrets/webhook-secrets.ts';
import { describeTransfer } from './describe-transfer-rpc.ts';
import { Moves } from './moves-store.ts';
import { WebhookTransferStore } from './transfer-store.ts';
import { WebhookSteps } from './webhook-steps-rpc.ts';

export interface TransfersOptions {
  app: Pool;
  system: Pool;
  jobs: Jobs<typeof callTasks & typeof channelTasks & typeof conversationTasks>;
  keyRing: KeyRing;
  secrets: WebhookSecrets;
  adapters: ChannelAdapters;
}

/** Endpoints and channels that go to another tenant. */
export function createTransfers({ log }: Shell, options: TransfersOptions) {
  const { app, system, jobs, keyRing, secrets, adapters } = options;
  const moves = new Moves({
    callTexts: new CallTexts(keyRing),
    channelTexts: new ChannelTexts(keyRing),
    conversations: new ConversationQueue(jobs),
    ...{ secrets, jobs, log },
  });
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
