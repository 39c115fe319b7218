import { validate } from '@gatehouse/http/validate';
import { z } from 'zod';
import { sameText } from '@gatehouse/keyless/same-text';
import type { ChannelAdapter, Checked, OpenChannel, Sent, Ways } from './adapter.ts';
import { pausedBy, postJson } from './provider-call.ts';

/** https://core.telegram.org/bots/api */

const secretHeader = 'x-telegram-bot-api-secret-token';

/** Of an Update, what is read. */
const update = z.object({
  update_id: z.int(),
  message: z
    .object({
      message_id: z.int(),
      message_thread_id: z.int().optional(),
      is_topic_message: z.boolean().optional(),
      from: z.object({ id: z.int(), is_bot: z.boolean(), first_name: z.string().optional() }).optional(),
      chat: z.object({ id: z.int(), type: z.string() }),
      text: z.string().optional(),
      caption: z.string().optional(),
    })
    .loose()
    .optional(),
});

/** Members of a message that are content without text. */
const attachments = [
  'animation',
  'audio',
  'contact',
  'document',
  'location',
  'paid_media',
  'photo',
  'poll',
  'sticker',
  'story',
  'venue',
  'video',
  'video_note',
  'voice',
];

const answerShape = z.object({
  ok: z.boolean(),
  error_code: z.int().optional(),
  description: z.string().max(1_000).optional(),
  parameters: z.object({ retry_after: z.number().optional() }).optional(),
  result: z.unknown().optional(),
});
const sentMessage = z.object({ message_id: z.int() });

export function telegram(apiUrl: string): ChannelAdapter<'telegram'> {
  const call = async (method: string, body: object, { credentials }: OpenChannel<'telegram'>, ways: Ways) => {
    // A tenant's text must not lead to other paths.
    const token = encodeURIComponent(credentials.bot_token).replaceAll('%3A', ':');
    const url = `${apiUrl}/bot${token}/${method}`;
    const { response, answer } = await postJson(ways, { url, body, shape: answerShape });
    const code = answer?.error_code ?? response.status;
    const reason = answer?.description ?? `Telegram responds with ${response.status}.`;
    return { response, answer, code, reason };
  };

  return {
    verify: (request, { credentials }) => {
      const values = request.header(secretHeader);
      return sameText(values[0] ?? '', credentials.secret_token) && values.length === 1;
    },
    parse: (body) => {
      const { update_id: id, message } = validate(update, body, 'body');
      if (message?.from === undefined || message.from.is_bot) return { kind: 'ignored' };
      const { chat, from } = message;
      const text = message.text ?? message.caption ?? null;
      const hasAttachment = attachments.some((name) => message[name] !== undefined);
      // Such as the news that somebody has joined a group.
      if (text === null && !hasAttachment) return { kind: 'ignored' };
      const topic = message.is_topic_message === true ? `:${message.message_thread_id ?? ''}` : '';
      return {
        kind: 'message',
        message: {
          externalId: String(id),
          keys: [String(id)],
          conversation: { externalId: `${chat.id}${topic}`, group: chat.type !== 'private' },
          sender: { id: String(from.id), name: from.first_name ?? null },
          text,
          hasAttachment,
          position: String(id),
        },
      };
    },
    acceptedStatus: 202,
    style: 'telegram',
    maxChars: 4_096,
    send: async ({ conversation, text, plainText }, channel, ways): Promise<Sent> => {
      const place = placeOf(conversation);
      let sent = await call('sendMessage', { ...place, text, parse_mode: 'HTML' }, channel, ways);
      if (sent.code === 400 && sent.reason.includes('parse entities'))
        sent = await call('sendMessage', { ...place, text: plainText }, channel, ways);
      const { response, answer, code, reason } = sent;
      if (answer?.ok === true) {
        const { data } = sentMessage.safeParse(answer.result);
        return { kind: 'sent', externalId: data === undefined ? null : String(data.message_id) };
      }
      if (code === 429) return pausedBy(response, answer?.parameters?.retry_after);
      // A proxy's page is not Telegram's word.
      if (answer === null) return { kind: 'retry', reason };
      if (isUnauthorized(code)) return { kind: 'unauthorized', reason };
      return code >= 400 && code < 500 ? { kind: 'rejected', reason } : { kind: 'retry', reason };
    },
    typing: async (conversation, channel, ways) => {
      const aside = { ...ways, provider: ways.typing };
      await call('sendChatAction', { ...placeOf(conversation), action: 'typing' }, channel, aside);
    },
    check: async (channel, ways): Promise<Checked> => {
      const { answer, code, reason } = await call('getMe', {}, channel, ways);
      if (answer?.ok === true) return { kind: 'connected' };
      return { kind: answer !== null && isUnauthorized(code) ? 'unauthorized' : 'retry', reason };
    },
  };
}

/** Telegram answers 404 for a token of no bot. */
const isUnauthorized = (code: number): boolean => code === 401 || code === 404;

function placeOf(conversation: string): { chat_id: string; message_thread_id?: number } {
  const [chat = '', topic] = conversation.split(':');
  return { chat_id: chat, ...(topic !== undefined && topic !== '' && { message_thread_id: Number(topic) }) };
}
