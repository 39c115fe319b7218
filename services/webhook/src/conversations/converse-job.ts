import type { ChannelInstance } from '@gatehouse/contract/channel-instances';
import type { JobContext, JobHandler } from '@gatehouse/jobs/task';
import { sleep } from '@gatehouse/kit/clock';
import { type AppError, toAppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import { nextBurst, type WaitingMessage } from './burst.ts';
import type { Channel } from '../channels/channel.ts';
import type { ChannelMetrics } from './channel-metrics.ts';
import type { ChannelTexts } from './channel-texts.ts';
import { historyBytes, promptOf, type HistoryMessage } from './prompt.ts';
import type { ReplyWriter } from './reply-writer.ts';
import type { OpenChannels } from '../channels/open-channels.ts';
import { sealedReplies } from './sealed-replies.ts';
import { showTyping } from './typing.ts';
import type { Ground } from '../ground.ts';
import type { Ref } from '../shared/ref.ts';
import type { Conversation, EarlierMessage, PendingTurn, TurnEnd, TurnStore } from './turn-store.ts';
import { isTemporary } from '../clients/completion.ts';
import { limitAttempts } from '../bounds.ts';

export interface ConverseDependencies extends Pick<Ground, 'completions' | 'tenants'> {
  channels: OpenChannels;
  turns: TurnStore;
  texts: ChannelTexts;
  writer: ReplyWriter;
  metrics: Pick<ChannelMetrics, 'ended'>;
  /** Sends the replies of a conversation, once the transaction commits. */
  send: (db: Queryable, conversation: Ref) => Promise<void>;
  /** Goes on with what waits where the conversation goes on. */
  continueInMovedConversation: (conversation: Ref & { movedTo: string }) => Promise<void>;
  /** Goes on with a conversation in a job of its own. */
  requeue: (conversation: Ref) => Promise<void>;
}

function isInUse(channel: Channel | null): channel is Channel {
  return channel?.enabled === true && !channel.closed;
}

/**
 * Answers the waiting messages of a conversation, one turn after the other. Jobs of one conversation run one at a time:
 * no turn overtakes another; a begun turn is finished first, by the same call id.
 */
export function converse(dependencies: ConverseDependencies): JobHandler<{ conversationId: string }> {
  const { turns, channels, tenants, texts, requeue, continueInMovedConversation } = dependencies;
  return async ({ conversationId }, context) => {
    const { tenantId, signal } = context;
    for (;;) {
      signal.throwIfAborted();
      const conversation = await turns.findConversation(tenantId, conversationId);
      const channel = conversation === null ? null : await channels.find(tenantId, conversation.instanceId);
      // Messages of a disabled or closed channel, or of an inactive tenant, wait.
      if (conversation === null || !isInUse(channel) || !(await tenants.isActive(tenantId))) return;
      const { turn, waiting } = await turns.open(conversation);
      if (turn !== null) {
        await answer(dependencies, { turn, conversation, channel }, context);
        continue;
      }
      const { messages, readyInS } = nextBurst(waiting);
      if (messages.length === 0) return;
      if (conversation.movedTo !== null)
        return continueInMovedConversation({ ...conversation, movedTo: conversation.movedTo });
      // Attempts count for one turn.
      if (context.attempt > 1) return requeue(conversation);
      if (readyInS > 0) await sleep(readyInS * 1_000);
      else await begin({ conversation, channel, messages }, context);
    }
  };

  async function begin(
    { conversation, channel, messages }: NextTurn,
    { log }: Pick<JobContext, 'log'>,
  ): Promise<void> {
    const { tenantId, isGroup } = conversation;
    const [{ userId } = { userId: '' }] = messages;
    const id = newId();
    const read = ({ id: messageId, text, direction, senderName }: EarlierMessage): HistoryMessage[] => {
      if (text === null) return [];
      const row = { tenantId, id: messageId };
      const plainText =
        direction === 'in' ? texts.messages.open(row, text) : texts.openPiece(row, text).plainText;
      return [{ direction, senderName, text: plainText }];
    };
    // A text of the history without its key must not end the conversation.
    const readEarlier = (message: EarlierMessage): HistoryMessage[] => {
      try {
        return read(message);
      } catch (error) {
        log.error({ err: error, message_id: message.id }, 'failed to decrypt an earlier message');
        return [];
      }
    };
    const sealed = await turns.texts(
      conversation,
      messages.map((message) => message.id),
    );
    const incoming = messages.flatMap(({ id: messageId, senderName }) =>
      read({ id: messageId, senderName, direction: 'in', text: sealed.get(messageId) ?? null }),
    );
    const historyTokens = channel.history_tokens;
    const opening = channels.adapterOf(channel).opening?.(conversation.externalId) ?? null;
    const earlier = async (): Promise<EarlierMessage[]> => [
      ...(await turns.earlier(conversation, historyBytes(historyTokens))),
      ...(opening === null ? [] : await turns.opening(conversation, opening)),
    ];
    const prompt = async (): Promise<string> =>
      promptOf(incoming, {
        earlier: (await earlier()).flatMap(readEarlier),
        ...{ historyTokens, isGroup },
      });
    await turns.begin(conversation, {
      id,
      userId,
      agentId: channel.agent_id,
      // Nothing in the messages can be read.
      request: incoming.length === 0 ? null : texts.requests.seal({ tenantId, id }, await prompt()),
      hasAttachment: messages.some(({ hasAttachment }) => hasAttachment),
      hops: Math.max(...messages.map(({ hops }) => hops)),
      messageIds: messages.map((message) => message.id),
    });
  }
}

interface NextTurn {
  conversation: Conversation;
  channel: Channel;
  messages: readonly WaitingMessage[];
}

interface OpenTurn {
  turn: PendingTurn;
  conversation: Conversation;
  channel: Channel;
}

async function answer(
  dependencies: ConverseDependencies,
  open: OpenTurn,
  context: JobContext,
): Promise<void> {
  const { turn, channel } = open;
  const { channels, turns, writer, texts, tenants, metrics, send } = dependencies;
  const { tenantId } = turn;
  const { replies: replyTexts, ...end } = await replyTextsFor(dependencies, open, context);
  const adapter = channels.adapterOf(channel);
  const replies = await sealedReplies({ writer, texts }, { tenantId, adapter }, replyTexts);
  const { retentionDays } = await tenants.settingsOf(tenantId);
  await turns.end(turn, { ...end, replies, retentionDays }, (db, id) => send(db, { tenantId, id }));
  metrics.ended(channel.type, end.status);
}

type TurnOutcome = Pick<TurnEnd, 'status' | 'runId'> & { replies: string[] };

/** The texts of the answer to a turn: the agent's, or a sentence in its place. Throws if a later attempt may succeed. */
async function replyTextsFor(
  dependencies: ConverseDependencies,
  { turn, conversation, channel }: OpenTurn,
  context: JobContext,
): Promise<TurnOutcome> {
  const { channels, texts, turns, completions } = dependencies;
  const { tenantId } = turn;
  const { replies } = channel;
  const declined = turn.hasAttachment ? sentence(replies.unsupported) : [];
  if (turn.request === null) return { status: 'answered', runId: null, replies: declined };
  const typing = await showTyping(channels, channel, conversation.externalId, context.log);
  try {
    const { runId, result } = await completions.askInJob(
      { tenantId, agentId: turn.agentId, userId: turn.userId },
      {
        callId: turn.id,
        channel: channel.type,
        group: conversation.isGroup,
        sessionId: conversation.id,
        requestJson: texts.requests.open(turn, turn.request),
      },
      context.signal,
    );
    const text = result.output?.trim() ?? '';
    return { status: 'answered', runId, replies: [...declined, ...(text === '' ? [] : [text])] };
  } catch (caught) {
    context.signal.throwIfAborted();
    const error = toAppError(caught);
    if (mayPass(error, context)) throw caught;
    if (error.code === 'content_blocked')
      return { status: 'answered', runId: null, replies: [...declined, error.message] };
    context.log.warn({ conversation_id: conversation.id, code: error.code }, 'failed to answer in a channel');
    const isLimit = error.status === 429;
    const isSaid = !isLimit || (await turns.mayRefuse(conversation));
    const replyTexts = isSaid ? sentence(isLimit ? replies.refusal : replies.failure) : [];
    return { status: 'failed', runId: null, replies: replyTexts };
  } finally {
    typing.stop();
  }
}

function mayPass(error: AppError, { lastAttempt, attempt }: JobContext): boolean {
  if (lastAttempt || !isTemporary(error)) return false;
  return error.status !== 429 || attempt < limitAttempts;
}

const sentence = (text: ChannelInstance['replies']['failure']): string[] => (text === null ? [] : [text]);
