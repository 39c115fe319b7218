import { z } from 'zod';
import type { QuotedMessage } from '../adapter.ts';
import { lenient } from './provider-call.ts';
import { attachmentOf, attachmentShapes } from './telegram-attachments.ts';

/** Messages that a message of Telegram is about. */

const text = lenient(z.string());
const user = lenient(z.object({ is_bot: lenient(z.boolean()), first_name: text, last_name: text }));
const chat = lenient(z.object({ title: text }));
/** https://core.telegram.org/bots/api#messageorigin */
const origin = lenient(
  z.object({ sender_user: user, sender_user_name: text, sender_chat: chat, chat, author_signature: text }),
);

/** https://core.telegram.org/bots/api#message */
export const quotingShapes = {
  reply_to_message: lenient(
    z.object({
      ...{ from: user, sender_chat: chat, text, caption: text },
      ...{ forum_topic_created: z.unknown().optional(), ...attachmentShapes },
    }),
  ),
  // The part that the sender has marked, also of a message in another chat.
  quote: lenient(z.object({ text: z.string() })),
  external_reply: lenient(z.object({ origin, ...attachmentShapes })),
  reply_to_story: lenient(z.object({})),
  forward_origin: origin,
};
const quoting = z.object(quotingShapes);
type Quoting = z.output<typeof quoting>;

/** The message that a message replies to, as far as Telegram shows it. The first message of a topic is only its title. */
export function repliedTo(message: Quoting, isPrivate: boolean): QuotedMessage[] {
  const { reply_to_message: replied, quote, external_reply: external, reply_to_story: story } = message;
  if (replied?.forum_topic_created !== undefined && quote === undefined) return [];
  const content = contentOf(replied ?? external ?? {}, quote?.text ?? replied?.text ?? replied?.caption);
  if (replied !== undefined) {
    // Bots don't get messages of other bots in a private chat.
    const kind = isPrivate && replied.from?.is_bot === true ? 'replyToBot' : 'reply';
    return quoteOf(kind, replied.sender_chat?.title ?? nameOf(replied.from), content);
  }
  if (external !== undefined)
    return quoteOf('reply', authorOf(external.origin), content ?? '(a message of another chat)');
  if (story !== undefined) return quoteOf('reply', null, '(story)');
  return quoteOf('reply', null, content);
}

/** A forwarded message: its text and the caption of its attachment are its author's. */
export function forwarded({ forward_origin: from }: Quoting, content: string | null): QuotedMessage[] {
  return quoteOf('forward', authorOf(from), content);
}

function quoteOf(
  kind: QuotedMessage['kind'],
  by: string | null,
  content: string | null | undefined,
): QuotedMessage[] {
  return content === null || content === undefined ? [] : [{ kind, by, text: content }];
}

/** The text of a message, behind the kind of its attachment. */
function contentOf(message: Parameters<typeof attachmentOf>[0], written: string | undefined): string | null {
  const attachment = attachmentOf(message)?.replaceAll('_', ' ');
  const parts = [attachment === undefined ? undefined : `(${attachment})`, written];
  const present = parts.filter((part) => part !== undefined);
  return present.length === 0 ? null : present.join(' ');
}

function nameOf(person: z.output<typeof user>): string | null {
  const names = [person?.first_name, person?.last_name].filter((name) => name !== undefined);
  return names.length === 0 ? null : names.join(' ');
}

function authorOf(from: Quoting['forward_origin']): string | null {
  const hidden = from?.sender_user_name ?? from?.sender_chat?.title ?? from?.chat?.title;
  return nameOf(from?.sender_user) ?? hidden ?? from?.author_signature ?? null;
}
