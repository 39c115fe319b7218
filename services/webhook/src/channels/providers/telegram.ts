import { z } from 'zod';
import { sameText } from '@gatehouse/public-access/same-text';
import type { ChannelAdapter, Checked, OpenChannel, Sent, Egresses } from '../adapter.ts';
import { lenient, pausedBy, postJson, providerUrl } from './provider-call.ts';
import { readUpdate } from './telegram-update.ts';

/** https://core.telegram.org/bots/api */

const secretHeader = 'x-telegram-bot-api-secret-token';

const answerShape = z.object({
  ok: z.boolean(),
  error_code: z.int().optional(),
  description: z.string().max(1_000).optional(),
  parameters: lenient(z.object({ retry_after: lenient(z.number()), migrate_to_chat_id: lenient(z.int()) })),
  result: z.unknown().optional(),
});
const sentMessage = z.object({ message_id: z.int() });

export const telegramSettings = { TELEGRAM_API_URL: providerUrl('https://api.telegram.org') };

export function telegram({
  TELEGRAM_API_URL: apiUrl,
}: Record<keyof typeof telegramSettings, string>): ChannelAdapter<'telegram'> {
  const call = async (
    method: string,
    body: object,
    { credentials }: OpenChannel<'telegram'>,
    egresses: Egresses,
  ) => {
    // A tenant's text must not lead to other paths.
    const token = encodeURIComponent(credentials.bot_token).replaceAll('%3A', ':');
    const url = `${apiUrl}/bot${token}/${method}`;
    const { response, answer } = await postJson(egresses, { url, body, shape: answerShape });
    const code = answer?.error_code ?? response.status;
    const reason = answer?.description ?? `Telegram responds with ${response.status}.`;
    return { response, answer, code, reason };
  };

  return {
    verify: (request, { credentials }) => {
      const values = request.header(secretHeader);
      return sameText(values[0] ?? '', credentials.secret_token) && values.length === 1;
    },
    // A token is compared without reading the body.
    hmacs: 0,
    parse: readUpdate,
    acceptedStatus: 202,
    style: 'telegram',
    maxChars: 4_096,
    isGroup: (conversation) => /^[-@]/.test(conversation),
    send: async ({ conversation, text, plainText }, channel, egresses): Promise<Sent> => {
      const place = placeOf(conversation);
      let sent = await call('sendMessage', { ...place, text, parse_mode: 'HTML' }, channel, egresses);
      if (sent.code === 400 && sent.reason.includes('parse entities'))
        sent = await call('sendMessage', { ...place, text: plainText }, channel, egresses);
      const { response, answer, code, reason } = sent;
      if (answer?.ok === true) {
        const { data } = sentMessage.safeParse(answer.result);
        return { kind: 'sent', externalId: data === undefined ? null : String(data.message_id) };
      }
      if (code === 429) return pausedBy(response, answer?.parameters?.retry_after);
      // A proxy's page is not Telegram's word.
      if (answer === null) return { kind: 'retry', reason };
      if (isUnauthorized(code)) return { kind: 'unauthorized', reason };
      // The group has become a supergroup, which has another id.
      const to = answer.parameters?.migrate_to_chat_id;
      if (to !== undefined && String(to) !== conversation)
        return { kind: 'moved', from: conversation, to: String(to) };
      return code >= 400 && code < 500 ? { kind: 'rejected', reason } : { kind: 'retry', reason };
    },
    typing: async (conversation, channel, egresses) => {
      const aside = { ...egresses, provider: egresses.typing };
      await call('sendChatAction', { ...placeOf(conversation), action: 'typing' }, channel, aside);
    },
    check: async (channel, egresses): Promise<Checked> => {
      const { answer, code, reason } = await call('getMe', {}, channel, egresses);
      if (answer?.ok === true) return { kind: 'connected' };
      return { kind: answer !== null && isUnauthorized(code) ? 'unauthorized' : 'retry', reason };
    },
  };
}

/** Telegram answers 404 for a token of no bot. */
const isUnauthorized = (code: number): boolean => code === 401 || code === 404;

function placeOf(conversation: string): object {
  const [chat = '', topic = ''] = conversation.split(':');
  if (topic.startsWith('d')) return { chat_id: chat, direct_messages_topic_id: Number(topic.slice(1)) };
  return { chat_id: chat, ...(topic !== '' && { message_thread_id: Number(topic) }) };
}
