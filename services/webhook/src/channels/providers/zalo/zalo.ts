import { createHash } from 'node:crypto';
import { validate } from '@gatehouse/kit/validate';
import { z } from 'zod';
import { sameText } from '@gatehouse/public-access/same-text';
import type { ChannelAccounts, ChannelAdapter, Sent } from '../../adapter.ts';
import { lenient, pausedBy, postJson } from '../provider-call.ts';
import { limited, type ZaloUrls } from './zalo-oauth.ts';
import { timestampOf } from './timestamp.ts';
import { maxEventAgeMs } from '../../../bounds.ts';

/** https://developers.zalo.me/docs/official-account */

const signatureHeader = 'x-zevent-signature';

const party = lenient(z.object({ id: z.string().min(1).max(64) }));
/** The used members of a message. Other events have members of the same names: `user_seen_message` has `msg_ids`. */
const event = z.object({
  event_name: z.string(),
  sender: party,
  recipient: party,
  message: lenient(z.object({ msg_id: z.string().min(1).max(128), text: lenient(z.string()) })),
  timestamp: lenient(z.union([z.string().max(20), z.number().transform(String)])),
});

/** Names of the events for messages of people. `oa_send_…` are its own messages, others are news. */
const written = /^user_send_(?!group_)/;
const onlyText = 'user_send_text';

const answerShape = z.object({
  error: z.int(),
  message: z.string().max(1_000).optional(),
  data: z.object({ message_id: z.string().max(128).optional() }).nullish(),
});

const unauthorized = new Set([-216, -220, -124, -14_014]);

export const zaloAccounts: ChannelAccounts<'zalo_oa'> = {
  fieldsOf: ({ app_id: app, oa_id: account = null }) => ({ app, account }),
  withAccount: (config, account) => ({ ...config, oa_id: account }),
};

export function zalo({ ZALO_API_URL: apiUrl }: ZaloUrls): ChannelAdapter<'zalo_oa'> {
  return {
    verify: (request, { config, credentials }, nowS) => {
      const { body } = request;
      const timestamp = timestampOf(body);
      const [signature = '', ...others] = request.header(signatureHeader);
      const mac = createHash('sha256')
        .update(config.app_id)
        .update(body)
        .update(timestamp)
        .update(credentials.oa_secret)
        .digest('hex');
      const isRecent = Math.abs(nowS * 1_000 - Number(timestamp)) <= maxEventAgeMs;
      return sameText(signature.replace(/^mac=/, '').toLowerCase(), mac) && others.length === 0 && isRecent;
    },
    hmacs: 1,
    accounts: zaloAccounts,
    needsConsent: true,
    parse: (body) => {
      const { event_name: name, sender, recipient, message, timestamp } = validate(event, body, 'body');
      if (!written.test(name) || sender === undefined || recipient === undefined || message === undefined)
        return { kind: 'ignored' };
      const text = message.text === undefined || message.text === '' ? null : message.text;
      const hasAttachment = name !== onlyText;
      if (text === null && !hasAttachment) return { kind: 'ignored' };
      return {
        kind: 'message',
        account: recipient.id,
        ...(timestamp !== undefined && { sentAtMs: Number(timestamp) }),
        message: {
          externalId: message.msg_id,
          keys: [message.msg_id],
          conversation: { externalId: sender.id, group: false },
          sender: { id: sender.id, name: null },
          text,
          quoted: [],
          hasAttachment,
          position: timestamp !== undefined && /^\d{1,16}$/.test(timestamp) ? timestamp : null,
        },
      };
    },
    acceptedStatus: 200,
    style: 'plain',
    maxChars: 2_000,
    send: async ({ conversation, text }, { accessToken }, egresses): Promise<Sent> => {
      if (accessToken === null) return { kind: 'unauthorized', reason: 'There is no consent yet.' };
      const { response, answer } = await postJson(egresses, {
        url: `${apiUrl}/v3.0/oa/message/cs`,
        headers: { access_token: accessToken },
        body: { recipient: { user_id: conversation }, message: { text } },
        shape: answerShape,
      });
      if (answer?.error === 0) return { kind: 'sent', externalId: answer.data?.message_id ?? null };
      const reason = `Zalo responds with ${answer?.error ?? `HTTP ${response.status}`}.`;
      // Zalo limits by the minute, and does not say for how long.
      if (answer?.error === limited || response.status === 429) return pausedBy(response, 60);
      if (answer === null || response.status >= 500) return { kind: 'retry', reason };
      return { kind: unauthorized.has(answer.error) ? 'unauthorized' : 'rejected', reason };
    },
  };
}
