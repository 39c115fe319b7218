import { validate } from '@gatehouse/kit/validate';
import { z } from 'zod';
import { verify } from '../../signatures/verify.ts';
import type { ChannelAdapter, Checked, Inbound, OpenChannel, Sent, Egresses } from '../adapter.ts';
import { lenient, pausedBy, postJson, providerUrl } from './provider-call.ts';
import { attachmentList, hasFiles, plainText, sharedIn } from './slack-attachments.ts';
import { maxAuthorizations } from '../../bounds.ts';

/** https://api.slack.com/apis/events-api, https://api.slack.com/methods/chat.postMessage */

const time = lenient(z.string().regex(/^\d{1,12}\.\d{1,9}$/));
const id = lenient(z.string().min(1).max(64));
/** The used members of a message. Other events have members of the same names: `team_join` has an object as `user`. */
const event = z.object({
  type: z.string(),
  subtype: lenient(z.string()),
  bot_id: lenient(z.string()),
  user: id,
  text: lenient(z.string()),
  channel: id,
  channel_type: lenient(z.string()),
  ts: time,
  thread_ts: time,
  files: lenient(z.array(z.unknown())),
  attachments: lenient(attachmentList),
});
const envelope = z.object({ type: z.string() });
const verification = z.object({ challenge: z.string().max(1_000) });
const authorizations = z.preprocess(
  (list) => (Array.isArray(list) ? list.slice(0, maxAuthorizations) : list),
  z.array(lenient(z.object({ user_id: id }))),
);
const callback = z.object({ event_id: id, event: lenient(event), authorizations: lenient(authorizations) });

const answerShape = z.object({
  ok: z.boolean(),
  error: z.string().max(200).optional(),
  ts: z.string().max(64).optional(),
  channel: lenient(z.string().min(1).max(64)),
});

/** Kinds of messages written by people; others are edits, deletions and news. */
const written = new Set([undefined, 'file_share', 'thread_broadcast', 'me_message']);

const unauthorized = new Set([
  'account_inactive',
  'invalid_auth',
  'missing_scope',
  'not_authed',
  'org_login_required',
  'team_access_not_granted',
  'token_expired',
  'token_revoked',
]);
const temporary = new Set([
  'fatal_error',
  'internal_error',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
]);

export const slackSettings = { SLACK_API_URL: providerUrl('https://slack.com/api') };

export function slack({
  SLACK_API_URL: apiUrl,
}: Record<keyof typeof slackSettings, string>): ChannelAdapter<'slack'> {
  const call = async (
    method: string,
    body: object,
    { credentials }: OpenChannel<'slack'>,
    egresses: Egresses,
  ) => {
    const headers = { authorization: `Bearer ${credentials.bot_token}` };
    const called = await postJson(egresses, {
      url: `${apiUrl}/${method}`,
      body,
      headers,
      shape: answerShape,
    });
    return { ...called, error: called.answer?.error ?? `HTTP ${called.response.status}` };
  };
  return {
    verify: (request, { credentials }, nowS) =>
      verify(request, { scheme: 'slack', secrets: [credentials.signing_secret], nowS }) !== null,
    hmacs: 1,
    parse,
    acceptedStatus: 202,
    style: 'slack',
    maxChars: 4_000,
    // A channel, and not a direct conversation or a person.
    isGroup: (conversation) => !/^[DUW]/.test(conversation),
    opening: (conversation) => {
      const [place = '', thread] = conversation.split(':');
      return thread === undefined ? null : { conversation: place, message: thread };
    },
    send: async ({ conversation, text }, channel, egresses): Promise<Sent> => {
      const [place = '', thread] = conversation.split(':');
      const body = { channel: place, text, ...(thread !== undefined && { thread_ts: thread }) };
      const { response, answer, error } = await call('chat.postMessage', body, channel, egresses);
      if (answer?.ok === true) {
        const { ts: externalId = null, channel: opened = place } = answer;
        // A message to a person is in the direct conversation with them, from which their messages come.
        const isPerson = /^[UW]/.test(conversation) && opened !== place;
        return { kind: 'sent', externalId, ...(isPerson && { opened }) };
      }
      if (response.status === 429 || error === 'ratelimited') return pausedBy(response);
      const reason = `Slack responds with ${error}.`;
      if (unauthorized.has(error)) return { kind: 'unauthorized', reason };
      const isTemporary = answer === null || response.status >= 500 || temporary.has(error);
      return { kind: isTemporary ? 'retry' : 'rejected', reason };
    },
    check: async (channel, egresses): Promise<Checked> => {
      const { answer, error } = await call('auth.test', {}, channel, egresses);
      if (answer?.ok === true) return { kind: 'connected' };
      return {
        kind: unauthorized.has(error) ? 'unauthorized' : 'retry',
        reason: `Slack responds with ${error}.`,
      };
    },
  };
}

function parse(body: unknown): Inbound {
  const { type: kind } = validate(envelope, body, 'body');
  if (kind === 'url_verification') {
    const { challenge } = validate(verification, body, 'body');
    return { kind: 'challenge', challenge };
  }
  // Others are news, like a limit of Slack on events.
  if (kind !== 'event_callback') return { kind: 'ignored' };
  const request = validate(callback, body, 'body');
  if (request.event === undefined) return { kind: 'ignored' };
  const { type, subtype, bot_id: bot, user, channel, ts, thread_ts: thread, ...message } = request.event;
  const isWritten = (type === 'message' || type === 'app_mention') && written.has(subtype);
  if (!isWritten || bot !== undefined || user === undefined || channel === undefined || ts === undefined)
    return { kind: 'ignored' };
  const bots = (request.authorizations ?? []).flatMap((each) => each?.user_id ?? []);
  if (bots.includes(user)) return { kind: 'ignored' };
  const attachments = message.attachments ?? [];
  const hasAttachment = (message.files?.length ?? 0) > 0 || attachments.some(hasFiles);
  const quoted = sharedIn(attachments);
  const text = textOf(message.text ?? '', bots);
  if (text === '' && !hasAttachment && quoted.length === 0) return { kind: 'ignored' };
  const isDirect = message.channel_type === 'im' || channel.startsWith('D');
  // In a channel the answer begins a thread; a direct conversation goes on without one.
  const place = thread ?? (isDirect ? undefined : ts);
  const byPlace = `${channel}:${ts}`;
  const { event_id: eventId = byPlace } = request;
  return {
    kind: 'message',
    message: {
      externalId: eventId,
      // A mention comes as two events: `app_mention` and `message`.
      keys: [...new Set([eventId, byPlace])],
      conversation: { externalId: place === undefined ? channel : `${channel}:${place}`, group: !isDirect },
      // Slack sends no names; in a thread the agent must distinguish people.
      sender: { id: user, name: `@${user}` },
      text: text === '' ? null : text,
      quoted,
      hasAttachment,
      position: ts,
    },
  };
}

/** The text without mentions of the bot, and with `&`, `<` and `>` as they were written. */
function textOf(text: string, bots: readonly string[]): string {
  const mentions = /<@(\w+)(?:\|[^<>]*)?>/g;
  const others = text.replaceAll(mentions, (mention, user: string) => (bots.includes(user) ? '' : mention));
  return plainText(others).trim();
}
