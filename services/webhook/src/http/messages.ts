import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RawCall, RawHandler } from '@gatehouse/http/app';
import { isJson, parseJson, readBody } from '@gatehouse/http/body';
import type { BodyBudget } from '@gatehouse/http/body-budget';
import { openShare } from '@gatehouse/http/body-share';
import { clientIpOf } from '@gatehouse/http/client-ip';
import { sendJson } from '@gatehouse/http/reply';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import type { InboundMessage } from '../channels/adapter.ts';
import type { ChannelAdapters } from '../channels/adapters.ts';
import { actingUserOf, type SealedChannel } from '../channels/channel.ts';
import type { ChannelGate } from '../channels/channel-gate.ts';
import type { ChannelTexts } from '../channels/channel-texts.ts';
import type { QueueRoom } from '../calls/queue-room.ts';
import { channelIdOf, deliveryOf } from '../inbound/delivery-request.ts';
import type { TenantClient } from '../peers/tenants.ts';
import type { MessageStore } from '../store/message-store.ts';

export interface MessageDependencies {
  findChannel: (id: string) => Promise<SealedChannel | null>;
  adapters: ChannelAdapters;
  gate: ChannelGate;
  tenants: TenantClient;
  messages: MessageStore;
  texts: ChannelTexts;
  room: QueueRoom;
  /** Answers the conversation, once the transaction commits. */
  queue: (db: Queryable, conversation: { tenantId: string; id: string }) => Promise<void>;
  /** Of `anonymousBodyBudget`. */
  bodyBudget: BodyBudget;
}

interface Answer {
  status: 200 | 202;
  body: object;
}

/** `POST /v1/webhooks/message` */
export function messageHandlers(dependencies: MessageDependencies): Record<string, RawHandler> {
  return {
    'webhooks.message': async (request, response, call) => {
      const { status, body } = await receive(dependencies, request, response, call);
      sendJson(response, status, body, { [requestIdHeader]: call.requestId });
    },
  };
}

async function receive(
  dependencies: MessageDependencies,
  request: IncomingMessage,
  response: ServerResponse,
  context: RawCall,
): Promise<Answer> {
  const { findChannel, gate, adapters, bodyBudget, tenants } = dependencies;
  const channelId = channelIdOf(request);
  const named = channelId === null ? null : await findChannel(channelId);
  // Nothing is proved yet: a channel's id is no secret, so its tenant does not pay.
  const share = openShare(bodyBudget, clientIpOf(request), request, response);
  const body = await readBody(request, context.route.bodyLimit, { share });
  const channel = await gate.check(deliveryOf(request, body), named, clientIpOf(request));
  const { retentionDays } = await tenants.settingsOf(channel.tenantId, context);
  if (!isJson(request.headers['content-type']))
    throw new AppError('unsupported_media_type', 'The request body must be application/json.');
  const adapter = adapters[channel.type];
  const inbound = adapter.parse(parseJson(body));
  if (inbound.kind === 'challenge') return { status: 200, body: { challenge: inbound.challenge } };
  if (inbound.kind === 'ignored') return { status: 200, body: { status: 'ignored', message_id: null } };
  const taken = await take(dependencies, channel, inbound.message, retentionDays);
  return taken.isDuplicate
    ? { status: 200, body: { status: 'duplicate', message_id: taken.id } }
    : { status: adapter.acceptedStatus, body: { status: 'accepted', message_id: taken.id } };
}

async function take(
  { messages, texts, room, queue }: MessageDependencies,
  channel: SealedChannel,
  message: InboundMessage,
  keptDays: number,
): Promise<{ id: string; isDuplicate: boolean }> {
  const [{ tenantId }, id] = [channel, newId()];
  await room.assert(tenantId);
  const { text, externalId, keys, sender, position, conversation, hasAttachment } = message;
  return messages.take(
    {
      ...{ id, tenantId, instanceId: channel.id, externalId, keys, position, hasAttachment, keptDays },
      conversation: { id: newId(), ...conversation },
      userId: actingUserOf(channel, sender.id),
      senderName: sender.name,
      text: text === null ? null : texts.sealText({ tenantId, id }, text),
      textBytes: Buffer.byteLength(text ?? ''),
    },
    (db, conversationId) => queue(db, { tenantId, id: conversationId }),
  );
}
