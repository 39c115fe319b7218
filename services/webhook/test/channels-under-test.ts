import { newId } from '@gatehouse/kit/ids';
import type { Answer } from '@gatehouse/test/service-under-test';
import { signed } from '@gatehouse/test/webhook-senders';
import type { AnswerBody, TestTenant, WebhookServiceUnderTest } from './webhook-service.ts';

const path = '/v1/channels/instances';

/** A channel that a test has created, with what signs its messages. */
export interface TestChannel {
  id: string;
  secret: string;
  config: object;
  tenant: TestTenant;
}

export interface Written {
  message_id: string;
  conversation_id: string;
  user: { id: string; name?: string };
  text: string;
  group?: boolean;
}

/** A message of Ann in a conversation with her; `fields` are what it has of its own. */
export function written(text: string, fields: Partial<Written> = {}): Written {
  return { message_id: newId(), conversation_id: 'with-ann', user: { id: 'ann' }, text, ...fields };
}

export async function createChannel(
  webhooks: WebhookServiceUnderTest,
  tenant: TestTenant,
  fields: Record<string, unknown>,
): Promise<Answer<AnswerBody>> {
  const body = { name: 'Support', agent_id: tenant.agentId, ...fields };
  return webhooks.call('POST', path, { as: tenant.admin, body });
}

/** A channel of a type. */
export async function makeChannel(
  webhooks: WebhookServiceUnderTest,
  tenant: TestTenant,
  fields: Record<string, unknown>,
): Promise<TestChannel> {
  const { status, body } = await createChannel(webhooks, tenant, fields);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return { id: body.id, secret: body.secret, config: body.config, tenant };
}

/** Sends a message as the provider of a `generic` channel does. */
export function write(
  webhooks: WebhookServiceUnderTest,
  channel: TestChannel,
  message: Written,
  port?: number,
): Promise<Answer<AnswerBody>> {
  const body = JSON.stringify(message);
  return postMessage(webhooks, channel.id, {
    headers: signed({ scheme: 'standard', secret: channel.secret }, body, { id: message.message_id }),
    ...{ body, port },
  });
}

export function postMessage(
  webhooks: WebhookServiceUnderTest,
  channelId: string,
  request: { headers: Record<string, string | string[]>; body: string; port?: number | undefined },
): Promise<Answer<AnswerBody>> {
  return webhooks.sendAnonymously('webhooks.message', `/v1/webhooks/message?channel=${channelId}`, request);
}

/** All messages of a conversation, the oldest first. */
export async function messagesOf(
  webhooks: WebhookServiceUnderTest,
  { id, tenant }: TestChannel,
  externalId = 'with-ann',
): Promise<AnswerBody[]> {
  const as = tenant.admin;
  const { body: conversations } = await webhooks.call('GET', `${path}/${id}/conversations`, { as });
  const conversation = conversations.data.find((each) => each.external_id === externalId);
  if (conversation === undefined) return [];
  const messages = `${path}/${id}/conversations/${conversation.id}/messages`;
  return (await webhooks.call('GET', messages, { as })).body.data.toReversed() as AnswerBody[];
}
