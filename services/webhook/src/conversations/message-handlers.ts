import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RawCall, RawHandler } from '@gatehouse/http/app';
import { isJson, parseJson, readBody } from '@gatehouse/http/body';
import { chargeTenant, openAnonymousShare } from '@gatehouse/http/body-share';
import { clientIpOf } from '@gatehouse/http/client-ip';
import { sendJson } from '@gatehouse/http/reply';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import { toPgText } from '@gatehouse/pg/text';
import type { InboundMessage } from '../channels/adapter.ts';
import type { OpenChannels } from '../channels/open-channels.ts';
import { actingUserOf, type Channel, type SealedChannel } from '../channels/channel.ts';
import type { ChannelGate } from '../channels/channel-gate.ts';
import type { ChannelMetrics } from './channel-metrics.ts';
import type { ChannelTexts } from './channel-texts.ts';
import type { Ground } from '../ground.ts';
import type { Ref } from '../shared/ref.ts';
import type { QueueRoom } from '../shared/queue-room.ts';
import { hopsHeader, type Hops } from '../deliveries/hops.ts';
import { channelIdOf } from '../shared/named-ids.ts';
import { signedRequestOf } from '../signatures/schemes.ts';
import type { ConversationMoveStore } from './conversation-move-store.ts';
import type { MessageStore } from './message-store.ts';
import { withQuotes } from './quotes.ts';
import { clockSkewS, maxNameChars } from '../bounds.ts';

export interface MessageDependencies extends Pick<Ground, 'tenants' | 'anonymousBudget' | 'bodyBudget'> {
  /** The channel of a tenant and a type with a config. */
  findByConfig: (tenantId: string, type: Channel['type'], config: object) => Promise<Channel | null>;
  channels: OpenChannels;
  gate: ChannelGate;
  messages: MessageStore;
  texts: ChannelTexts;
  hops: Hops;
  room: QueueRoom;
  moves: ConversationMoveStore;
  /** Goes on with a moved conversation, once the transaction commits. */
  resume: (db: Queryable, conversation: Ref) => Promise<void>;
  /** Answers the conversation, once the transaction commits. */
  queue: (db: Queryable, conversation: Ref) => Promise<void>;
  metrics: Pick<ChannelMetrics, 'taken'>;
}

/** A message, and how often what it is about was sent on by a gateway. */
type SentOnMessage = InboundMessage & { hops: number };

interface MessageReceipt {
  status: 200 | 202;
  body: object;
}

const ignored: MessageReceipt = { status: 200, body: { status: 'ignored', message_id: null } };

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
): Promise<MessageReceipt> {
  const { gate, channels, tenants, metrics, moves, resume, anonymousBudget, bodyBudget } = dependencies;
  const address = clientIpOf(request);
  // Nothing is proved yet: a channel's id is no secret, so its tenant does not pay.
  const share = openAnonymousShare(anonymousBudget, address, request, response);
  const channelId = channelIdOf(request);
  const named = channelId === null ? null : await gate.find(channelId);
  const body = await readBody(request, context.route.bodyLimit, { share });
  const channel = await gate.check(signedRequestOf(request, body), named, address);
  chargeTenant(bodyBudget, channel.tenantId, { share, bytes: body.length, response });
  const { retentionDays } = await tenants.settingsOf(channel.tenantId, context);
  if (!isJson(request.headers['content-type']))
    throw new AppError('unsupported_media_type', 'The request body must be application/json.');
  const adapter = channels.adapterOf(channel);
  const inbound = adapter.parse(parseJson(body));
  if (inbound.kind === 'challenge') return { status: 200, body: { challenge: inbound.challenge } };
  if (inbound.kind === 'moved') {
    const { from, to } = inbound;
    await moves.move({ tenantId: channel.tenantId, instanceId: channel.id, isGroup: true, from, to }, resume);
    metrics.taken(channel.type, 'ignored');
    return ignored;
  }
  const addressed =
    inbound.kind === 'ignored' ? null : await addressedChannel(dependencies, channel, inbound.account);
  if (inbound.kind === 'ignored' || addressed === null || isOlder(inbound.sentAtMs, addressed)) {
    metrics.taken(channel.type, 'ignored');
    return ignored;
  }
  const message = {
    ...inbound.message,
    hops: dependencies.hops.read(request.headersDistinct[hopsHeader] ?? []),
  };
  const taken =
    (await take(dependencies, addressed, message, retentionDays)) ??
    (await takeMoved(dependencies, addressed, message, context));
  const status = taken.isDuplicate ? 'duplicate' : 'accepted';
  metrics.taken(channel.type, status);
  return {
    status: taken.isDuplicate ? 200 : adapter.acceptedStatus,
    body: { status, message_id: taken.id },
  };
}

/** Stores a message for a channel that has moved to another tenant meanwhile. */
async function takeMoved(
  dependencies: MessageDependencies,
  channel: Channel,
  message: SentOnMessage,
  context: RawCall,
): Promise<{ id: string; isDuplicate: boolean }> {
  const moved = await dependencies.gate.find(channel.id);
  const { retentionDays } = await dependencies.tenants.settingsOf((moved ?? channel).tenantId, context);
  const taken = moved === null ? null : await take(dependencies, moved, message, retentionDays);
  if (taken === null)
    throw new AppError('service_unavailable', 'The channel has changed meanwhile. Send the message again.');
  return taken;
}

/** The channel of an account, where one URL takes the messages of several; null without one. */
async function addressedChannel(
  { channels, findByConfig }: MessageDependencies,
  channel: SealedChannel,
  account: string | undefined,
): Promise<Channel | null> {
  const { accounts } = channels.adapterOf(channel);
  const { tenantId, type, config } = channel;
  if (account === undefined || accounts === undefined || accounts.fieldsOf(config).account === account)
    return channel;
  const other = await findByConfig(tenantId, type, accounts.withAccount(config, account));
  return other?.enabled === true ? other : null;
}

/** Whether a message was sent before the channel existed: an earlier channel of the account may have had it. */
function isOlder(sentAtMs: number | undefined, { createdAt }: Channel): boolean {
  return sentAtMs !== undefined && sentAtMs < createdAt.getTime() - clockSkewS * 1_000;
}

/** Null if the tenant has the channel no more. */
async function take(
  { messages, texts, tenants, room, queue }: MessageDependencies,
  channel: Channel,
  message: SentOnMessage,
  retentionDays: number,
): Promise<{ id: string; isDuplicate: boolean } | null> {
  const [{ tenantId }, id] = [channel, newId()];
  await room.assert(tenantId);
  const { sender, position, conversation, hasAttachment, hops } = message;
  const text = withQuotes(message.text, message.quoted);
  const userId = await tenants.userOf(tenantId, actingUserOf(channel, sender.id));
  return messages.take(
    {
      ...{
        id,
        tenantId,
        instanceId: channel.id,
        position,
        hasAttachment,
        hops,
        retentionDays,
      },
      externalId: toPgText(message.externalId),
      keys: message.keys.map(toPgText),
      conversation: { id: newId(), group: conversation.group, externalId: toPgText(conversation.externalId) },
      userId,
      senderName: sender.name === null ? null : toPgText(sender.name.slice(0, maxNameChars)),
      text: text === null ? null : texts.messages.seal({ tenantId, id }, text),
      textBytes: Buffer.byteLength(text ?? ''),
    },
    (db, conversationId) => queue(db, { tenantId, id: conversationId }),
  );
}
