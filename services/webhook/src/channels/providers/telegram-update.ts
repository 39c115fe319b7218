import { validate } from '@gatehouse/kit/validate';
import { z } from 'zod';
import type { Inbound } from '../adapter.ts';
import { lenient } from './provider-call.ts';
import { attachmentOf, attachmentShapes } from './telegram-attachments.ts';
import { forwarded, quotingShapes, repliedTo } from './telegram-quotes.ts';

/** https://core.telegram.org/bots/api#update */

/** The used members of an Update. */
const update = z.object({
  update_id: z.int(),
  message: lenient(
    z.object({
      message_thread_id: lenient(z.int()),
      is_topic_message: lenient(z.boolean()),
      direct_messages_topic: lenient(z.object({ topic_id: z.int() })),
      from: lenient(z.object({ id: z.int(), is_bot: lenient(z.boolean()), first_name: lenient(z.string()) })),
      sender_chat: lenient(z.object({ id: z.int(), title: lenient(z.string()) })),
      author_signature: lenient(z.string()),
      is_automatic_forward: lenient(z.boolean()),
      chat: z.object({ id: z.int(), type: lenient(z.string()), is_direct_messages: lenient(z.boolean()) }),
      text: lenient(z.string()),
      caption: lenient(z.string()),
      migrate_to_chat_id: lenient(z.int()),
      migrate_from_chat_id: lenient(z.int()),
      ...quotingShapes,
      ...attachmentShapes,
    }),
  ),
});
type Message = NonNullable<z.output<typeof update>['message']>;

/** Reads an Update. Everything in it but messages of people, and news of a group's new id, is ignored. */
export function readUpdate(body: unknown): Inbound {
  const { update_id: id, message } = validate(update, body, 'body');
  if (message === undefined) return { kind: 'ignored' };
  const { chat, migrate_to_chat_id: to, migrate_from_chat_id: from } = message;
  if (to !== undefined) return { kind: 'moved', from: String(chat.id), to: String(to) };
  if (from !== undefined) return { kind: 'moved', from: String(from), to: String(chat.id) };
  const sender = senderOf(message);
  const text = message.text ?? message.caption ?? null;
  const hasAttachment = attachmentOf(message) !== undefined;
  const isForward = message.forward_origin !== undefined;
  // For example, the news of a new member of a group.
  if (sender === null || (text === null && !hasAttachment)) return { kind: 'ignored' };
  return {
    kind: 'message',
    message: {
      externalId: String(id),
      keys: [String(id)],
      conversation: { externalId: `${chat.id}${topicOf(message)}`, group: chat.type !== 'private' },
      sender,
      text: isForward ? null : text,
      quoted: isForward ? forwarded(message, text) : repliedTo(message, chat.type === 'private'),
      hasAttachment,
      position: String(id),
    },
  };
}

/**
 * The message's part of a chat, as it stands in the id of a conversation. Each person who writes to a channel directly
 * has a topic of the same chat, which the administrators of the channel read.
 */
function topicOf({ is_topic_message: isTopic, message_thread_id: thread, ...message }: Message): string {
  if (message.direct_messages_topic !== undefined) return `:d${message.direct_messages_topic.topic_id}`;
  return isTopic === true ? `:${thread ?? ''}` : '';
}

/** Telegram's account for forwarding the posts of a linked channel to its group. */
const forwarderId = 777_000;
/** Telegram's bot for people who write as a channel. */
const channelBotId = 136_817_688;

/**
 * The sender of a person's message; null for bots, and for posts of a linked channel, which Telegram forwards to its
 * group by itself. People may write as the group (administrators who stay anonymous) or as a channel, by bots of
 * Telegram shared by all groups: the group or the channel is the sender then, and has nothing in common with others. A
 * channel that writes among its direct messages answers them itself.
 */
function senderOf(message: Message): { id: string; name: string | null } | null {
  const { from, sender_chat: as, chat, is_automatic_forward: isForward, author_signature: title } = message;
  if (isForward === true || from?.id === forwarderId) return null;
  if (as?.id === chat.id) return { id: String(chat.id), name: title ?? as.title ?? null };
  if (as !== undefined && (from === undefined || from.id === channelBotId))
    return chat.is_direct_messages === true ? null : { id: String(as.id), name: as.title ?? null };
  if (from === undefined || from.is_bot === true) return null;
  return { id: String(from.id), name: from.first_name ?? null };
}
