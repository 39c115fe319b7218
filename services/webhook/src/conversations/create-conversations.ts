import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { withTenant } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { CallTexts } from '../calls/call-texts.ts';
import type { ConnectedChannel } from '../channels/channel.ts';
import type { ChannelGate } from '../channels/channel-gate.ts';
import type { ChannelHealth } from '../channels/channel-health-store.ts';
import { ChannelStore } from '../channels/channel-store.ts';
import type { OpenChannels } from '../channels/open-channels.ts';
import type { Hops } from '../deliveries/hops.ts';
import type { Ground } from '../ground.ts';
import type { Ref } from '../shared/ref.ts';
import { QueueRoom } from '../shared/queue-room.ts';
import { queueOverdue } from '../shared/upkeep.ts';
import { AnswerStore } from './answer-store.ts';
import { channelMetrics } from './channel-metrics.ts';
import { channelTexts } from './channel-texts.ts';
import { conversationHandlers } from './conversation-handlers.ts';
import { ConversationMoveStore } from './conversation-move-store.ts';
import { ConversationQueue, wakeConversations } from './conversation-queue-store.ts';
import { deleteEmptyConversations, expiredKeys, findOverdueAnswers } from './conversation-system-store.ts';
import { converse } from './converse-job.ts';
import { deliverAnswer } from './deliver-answer-job.ts';
import { messageHandlers } from './message-handlers.ts';
import { messageRetention, type MessageRetentionOptions } from './message-retention-job.ts';
import { MessageStore } from './message-store.ts';
import { releaseClaim, ReplyStore } from './reply-store.ts';
import { ReplyWriter } from './reply-writer.ts';
import { sendReplies } from './send-replies-job.ts';
import { TurnStore } from './turn-store.ts';
import { cleanUpMs } from '@gatehouse/kit/bounds';
import { overdueMs } from '../bounds.ts';

export interface ConversationsOptions extends Ground {
  hops: Hops;
  callTexts: CallTexts;
  channels: OpenChannels;
  channelGate: ChannelGate;
  health: ChannelHealth;
  /** Gets a new access token for one refused by the provider. Returns false where a new one can't help. */
  renew: (channel: ConnectedChannel) => Promise<boolean>;
  retentionFirstMs: MessageRetentionOptions['retentionFirstMs'];
}

/** Messages of people in channels, and the answers of agents. */
export function createConversations({ log, registry }: Shell, options: ConversationsOptions) {
  const { app, system, tenants } = options;
  const store = new ChannelStore(app);
  const messages = new MessageStore(app);
  const moves = new ConversationMoveStore(app);
  const texts = channelTexts(options.keyRing);
  const writer = new ReplyWriter(log);
  const metrics = channelMetrics(registry);
  const conversations = new ConversationQueue(options.jobs);
  const every = (task: string, everyMs: number, round: () => Promise<boolean>): PeriodicWork =>
    new PeriodicWork({ task, log, everyMs, round });
  return {
    handlers: conversationHandlers({ channels: store, messages, texts }),
    rawHandlers: messageHandlers({
      ...options,
      ...{ messages, moves, texts, metrics },
      findByConfig: (tenantId, type, config) => store.findByConfig(tenantId, type, config),
      gate: options.channelGate,
      room: new QueueRoom('messages', (tenantId, count) => messages.hasWaiting(tenantId, count)),
      resume: (db, conversation) => conversations.resume(db, [conversation]),
      queue: (db, conversation) => conversations.answer(db, conversation),
    }),
    jobs: {
      converse: converse({
        ...options,
        ...{ texts, writer, metrics },
        turns: new TurnStore(app),
        send: (db, conversation) => conversations.send(db, conversation),
        continueInMovedConversation: (conversation) =>
          moves.continueMoved(conversation, (db, target) => conversations.resume(db, [target])),
        requeue: (conversation) =>
          withTenant(app, conversation.tenantId, (db) => conversations.answer(db, conversation, 0)),
      }),
      deliver_answer: deliverAnswer({
        ...options,
        ...{ texts, writer, answers: new AnswerStore(app) },
        send: (db, conversation) => conversations.send(db, conversation),
      }),
      send_replies: sendReplies({
        ...options,
        ...{ texts, metrics },
        replies: new ReplyStore(app),
        move: (reply, { from, to }) => {
          const { tenantId, instanceId } = reply;
          return moves.move({ tenantId, instanceId, isGroup: true, from, to }, async (db, conversation) => {
            await releaseClaim(db, reply);
            await conversations.resume(db, [conversation]);
          });
        },
        follow: ({ tenantId, instanceId, conversation: from }, to) =>
          moves.move({ tenantId, instanceId, isGroup: false, from, to }, (db, conversation) =>
            conversations.resume(db, [conversation]),
          ),
        later: (conversation, afterS) =>
          withTenant(app, conversation.tenantId, (db) => conversations.send(db, conversation, afterS)),
      }),
    },
    parts: [
      { stop: () => writer.stop() },
      every('queue overdue conversations', overdueMs, () =>
        wakeConversations({ app, system, conversations, tenants }),
      ),
      queueOverdue({
        ...{ what: 'overdue answers of calls', app, log },
        find: (limit) => findOverdueAnswers(system, limit),
        add: async (db, { tenantId, id: callId }) => {
          await options.jobs.add(db, {
            ...{ task: 'deliver_answer', tenantId, ids: { callId }, key: callId, unlessTried: true },
          });
        },
      }),
      ...cleanUp(log, system, [expiredKeys]),
      messageRetention({ ...options, messages, log }),
      every('delete empty conversations', cleanUpMs, () => deleteEmptyConversations({ app, system })),
    ],
    /** Goes on with what waits in the conversations of a channel. */
    resumeChannel: (channel: Ref): Promise<void> =>
      messages.resumeChannel(channel, (db, some) => conversations.resume(db, some)),
  };
}
