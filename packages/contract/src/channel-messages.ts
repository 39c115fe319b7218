import { z } from 'zod';
import { instanceExample, type ChannelType } from './channel-instances.ts';
import { listOf, page, storableText, utcTime, uuid } from './fields.ts';
import { accepted, ok, pageOf, routesWith, scope, type Route } from './route.ts';
import { standardSignatureHeaders } from './signature-headers.ts';

/** Messages of channels, `POST /v1/webhooks/message`, and their conversations. */

const KiB = 1024;

/** The headers with the proof of a genuine message, of each type of channel: others don't pass the edge. */
const proofHeaders: Readonly<Record<ChannelType, readonly string[]>> = {
  generic: standardSignatureHeaders,
  telegram: ['x-telegram-bot-api-secret-token'],
  slack: ['x-slack-signature', 'x-slack-request-timestamp'],
  zalo_oa: ['x-zevent-signature'],
};
export const messageHeaders: readonly string[] = [...Object.values(proofHeaders).flat(), 'gatehouse-hops'];

export const messageQuery = z.strictObject({
  channel: z.string().max(64).optional().describe('Id of the channel'),
});

/** A message of a `generic` channel. Unknown members are ignored, as for all channels. */
export const genericMessage = z.object({
  message_id: storableText(1, 255).describe('A message with the id of an earlier one is not answered again'),
  conversation_id: storableText(1, 255),
  user: z.object({
    id: storableText(1, 255),
    name: storableText(0, 255).optional(),
  }),
  text: z.string().min(1).max(200_000),
  group: z.boolean().optional().describe('Whether several people read the conversation'),
});

export const messageTaken = z.strictObject({
  status: z.enum(['accepted', 'duplicate', 'ignored']),
  message_id: uuid.nullable().describe('Id of the stored message; null if it is ignored'),
});

/** Slack asks for its challenge back. */
const challenge = z.strictObject({ challenge: z.string() });

export const messageAnswer = z.union([messageTaken, challenge]);

export const conversation = z.strictObject({
  id: uuid,
  external_id: z.string().describe("The provider's"),
  group: z.boolean(),
  user_id: z.string().nullable().describe('The acting user; null in a group'),
  last_message_at: utcTime,
});
export type Conversation = z.output<typeof conversation>;

export const channelMessage = z.strictObject({
  id: uuid,
  external_id: z.string().nullable().describe("The provider's"),
  direction: z.enum(['in', 'out']),
  text: z.string(),
  status: z
    .enum(['received', 'answered', 'sent', 'failed'])
    .describe('`received` and `answered`: of messages in; `sent`: of replies'),
  run_id: uuid.nullable(),
  created_at: utcTime,
});
export type ChannelMessage = z.output<typeof channelMessage>;

export const listConversations = z.strictObject(page);
export const conversationList = listOf(conversation);
export const listMessages = z.strictObject(page);
export const messageList = listOf(channelMessage);

const conversationExample = {
  id: '0198c2d6-1c2d-7e4f-8a9b-0c1d2e3f4a5b',
  external_id: 'ticket-42',
  group: false,
  user_id: 'generic:0198c2d5-7b2c-7d49-a2e5-4d7f9a2b3c87:ann',
  last_message_at: '2026-01-10T10:00:00.000Z',
};
const messageExample = {
  id: '0198c2d7-1c2d-7e4f-8a9b-0c1d2e3f4a5b',
  external_id: 'msg-1',
  direction: 'in',
  text: 'Where is my order?',
  status: 'answered',
  run_id: '0198c2d8-1c2d-7e4f-8a9b-0c1d2e3f4a5b',
  created_at: '2026-01-10T10:00:00.000Z',
};

const route = routesWith({ service: 'webhook', access: scope('channels.read') });

export const routes: readonly Route[] = [
  route('webhooks.message', 'POST /v1/webhooks/message', {
    access: { kind: 'signed', headers: messageHeaders },
    bodyLimit: 256 * KiB,
    passedBody: genericMessage,
    query: messageQuery,
    response: { ...accepted(messageAnswer), also: 200 },
    summary: 'Take a message of a channel',
    description: [
      'For the providers of channels, each with its own body and signature. The body shown here is that of a `generic`',
      'channel, which is a Standard Webhook. The message is stored before it is acknowledged; the agent answers in the',
      "channel. A duplicate, by the provider's id of the message, gets 200, and so does an event that is no message.",
    ].join('\n'),
    examples: {
      generic: {
        summary: 'A message of a `generic` channel',
        query: { channel: instanceExample.id },
        body: {
          message_id: 'msg-1',
          conversation_id: conversationExample.external_id,
          user: { id: 'ann', name: 'Ann' },
          text: messageExample.text,
        },
        response: { status: 'accepted', message_id: messageExample.id },
      },
    },
  }),
  route('channels.conversations.list', 'GET /v1/channels/instances/{id}/conversations', {
    query: listConversations,
    response: ok(conversationList),
    summary: 'List the conversations of a channel',
    examples: {
      page: {
        summary: 'The newest conversation',
        params: { id: instanceExample.id },
        query: { limit: 20 },
        response: pageOf(conversationExample),
      },
    },
  }),
  route(
    'channels.messages.list',
    'GET /v1/channels/instances/{id}/conversations/{conversation_id}/messages',
    {
      query: listMessages,
      response: ok(messageList),
      summary: 'List the messages of a conversation, the newest first',
      examples: {
        page: {
          summary: 'The newest message',
          params: { id: instanceExample.id, conversation_id: conversationExample.id },
          query: { limit: 1 },
          response: { data: [messageExample], has_more: true, next_cursor: 'eyJpZCI6Ii4uLiJ9' },
        },
      },
    },
  ),
];
