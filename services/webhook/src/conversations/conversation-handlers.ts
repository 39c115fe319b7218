import type {
  ChannelMessage,
  Conversation,
  listConversations,
  listMessages,
} from '@gatehouse/contract/channel-messages';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import type { z } from 'zod';
import type { ChannelTexts } from './channel-texts.ts';
import type { ChannelStore } from '../channels/channel-store.ts';
import type { MessageStore, StoredConversation, StoredMessage } from './message-store.ts';

type Conversations = Call<unknown, z.output<typeof listConversations>>;
type Messages = Call<unknown, z.output<typeof listMessages>>;

/** `/v1/channels/instances/{id}/conversations*` */
export function conversationHandlers({
  channels,
  messages,
  texts,
}: {
  channels: ChannelStore;
  messages: MessageStore;
  texts: ChannelTexts;
}): Record<string, Handler> {
  const instanceOf = async (call: Call): Promise<{ tenantId: string; instanceId: string }> => {
    const [{ tenantId }, instanceId] = [tenantOf(call), resourceId(call.params, 'channel')];
    orNotFound(await channels.find(tenantId, instanceId), 'channel');
    return { tenantId, instanceId };
  };
  return {
    'channels.conversations.list': async (call: Conversations) => {
      const { limit, cursor } = call.query;
      const page = { limit, before: decodeCursor(cursor) };
      const rows = await messages.listConversations(await instanceOf(call), page);
      return { body: pageOf(rows, limit, showConversation) };
    },

    'channels.messages.list': async (call: Messages) => {
      const { limit, cursor } = call.query;
      const instance = await instanceOf(call);
      const conversationId = resourceId({ id: call.params['conversation_id'] ?? '' }, 'conversation');
      orNotFound((await messages.hasConversation(instance, conversationId)) || null, 'conversation');
      const { tenantId } = instance;
      const page = { limit, before: decodeCursor(cursor) };
      const rows = await messages.listMessages({ tenantId, conversationId }, page);
      return { body: pageOf(rows, limit, (message) => showMessage(message, tenantId, texts)) };
    },
  };
}

function showConversation(conversation: StoredConversation): Conversation {
  const { id, externalId, isGroup, userId, lastMessageAt } = conversation;
  return {
    ...{ id, external_id: externalId, group: isGroup, user_id: userId },
    last_message_at: lastMessageAt.toISOString(),
  };
}

function showMessage(message: StoredMessage, tenantId: string, texts: ChannelTexts): ChannelMessage {
  const { id, externalId, direction, text, status, runId, createdAt } = message;
  const open = (sealed: Buffer): string =>
    direction === 'in'
      ? texts.messages.open({ tenantId, id }, sealed)
      : texts.openPiece({ tenantId, id }, sealed).plainText;
  return {
    ...{ id, external_id: externalId, direction, status, run_id: runId },
    text: text === null ? '' : open(text),
    created_at: createdAt.toISOString(),
  };
}
