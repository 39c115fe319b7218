import { genericMessage } from '@gatehouse/contract/channel-messages';
import { validate } from '@gatehouse/kit/validate';
import { retryAfterS } from '../../deliveries/delivery.ts';
import type { Hops } from '../../deliveries/hops.ts';
import { newStandardSecret, secretFor, standardHeaders } from '../../signatures/signing-secret.ts';
import { verify } from '../../signatures/verify.ts';
import type { ChannelAdapter } from '../adapter.ts';

/** Any sender and receiver of Standard Webhooks. */
export function generic(hops: Hops): ChannelAdapter<'generic'> {
  return {
    verify: (request, { credentials: { secret } }, nowS) =>
      verify(request, { scheme: 'standard', secrets: secret === undefined ? [] : [secret], nowS }) !== null,
    hmacs: 1,
    completed: ({ secret }) => ({ secret: secretFor('standard', secret, 'credentials.secret') }),
    unusable: newStandardSecret,
    callbackUrlOf: ({ callback_url: url }) => url,
    parse: (body) => {
      if (isOtherEvent(body)) return { kind: 'ignored' };
      const {
        message_id: externalId,
        conversation_id,
        user,
        text,
        group,
      } = validate(genericMessage, body, 'body');
      return {
        kind: 'message',
        message: {
          externalId,
          keys: [externalId],
          conversation: { externalId: conversation_id, group: group ?? false },
          sender: { id: user.id, name: user.name ?? null },
          text,
          quoted: [],
          hasAttachment: false,
          position: null,
        },
      };
    },
    acceptedStatus: 202,
    style: 'markdown',
    maxChars: 32_000,
    send: async (
      { id, conversation, inReplyTo, hops: before, text },
      { config, credentials, previousCredentials: previous },
      { tenant },
    ) => {
      const at = new Date();
      const secrets = [credentials.secret, previous?.secret].filter((secret) => secret !== undefined);
      const data = { message_id: id, conversation_id: conversation, in_reply_to: inReplyTo, text };
      const body = JSON.stringify({ type: 'message.reply', timestamp: at.toISOString(), data });
      const { status, headers } = await tenant({
        method: 'POST',
        url: new URL(config.callback_url),
        headers: {
          ...standardHeaders(secrets, { id, at, body }),
          ...hops.headersOf(before + 1),
        },
        body: Buffer.from(body),
        ignoreBody: true,
      });
      if (status >= 200 && status < 300) return { kind: 'sent', externalId: null };
      if (status === 410) return { kind: 'rejected', reason: 'The callback URL responds with 410.' };
      if (hops.isExceeded(headers))
        return { kind: 'rejected', reason: 'The callback URL leads back to a channel: a loop has ended.' };
      const afterS = retryAfterS(headers['retry-after'], at);
      if (afterS !== null && afterS > 0) return { kind: 'paused', afterS };
      return { kind: 'retry', reason: `The callback URL responds with ${status}.` };
    },
  };
}

/** Whether it is an event of Standard Webhooks, which all have a `type`, and has no text. */
function isOtherEvent(body: unknown): boolean {
  const { type, text = null } = Object(body) as { type?: unknown; text?: unknown };
  return typeof type === 'string' && text === null;
}
