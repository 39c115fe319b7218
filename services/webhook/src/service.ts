import { joined } from '@gatehouse/shell/feature';
import { participant } from '@gatehouse/shell/participant';
import type { Service } from '@gatehouse/shell/service';
import { Shell } from '@gatehouse/shell/shell';
import { createCalls } from './calls/create-calls.ts';
import { createChannels } from './channels/create-channels.ts';
import type { WebhookConfig, WebhookOverrides } from './config.ts';
import { createConversations } from './conversations/create-conversations.ts';
import { createDeliveries } from './deliveries/create-deliveries.ts';
import { createEndpoints } from './endpoints/create-endpoints.ts';
import { forgetUser } from './forgetting/forget-user-job.ts';
import { createGround } from './ground.ts';
import { rewrapValues } from '@gatehouse/secrets/rewrap-job';
import { sealedColumns as columns } from './sealed-columns.ts';
import type { Ref } from './shared/ref.ts';
import { createSubscriptions } from './subscriptions/create-subscriptions.ts';
import { createTransfers } from './transfers/create-transfers.ts';

/** The webhook service: what triggers agents from outside, webhooks and channels. Opens nothing before `start`. */
export async function createService(
  config: WebhookConfig,
  { inJobMs, jobTiming: timing = {}, messageRetentionFirstMs, ...overrides }: WebhookOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('webhook', config, overrides);
  const { parts: groundParts, ...ground } = createGround(shell, config, inJobMs);
  const deliveries = createDeliveries(shell, {
    ...ground,
    resultOf: (tenantId, callId) => calls.resultOf(tenantId, callId),
    raise: (db, tenantId, event) => subscriptions.raise(db, tenantId, event),
  });
  const { deliveryQueue, hops } = deliveries;
  const endpoints = createEndpoints(shell, {
    ...ground,
    hasChannel: async (tenantId, id) => (await channels.channels.find(tenantId, id)) !== null,
  });
  const { endpointGate, templates } = endpoints;
  const calls = createCalls(shell, { ...ground, deliveryQueue, hops, endpointGate, templates });
  const subscriptions = createSubscriptions(shell, { ...ground, deliveryQueue });
  const { raise } = subscriptions;
  const resumeChannel = (channel: Ref) => conversations.resumeChannel(channel);
  const channels = createChannels(shell, { ...ground, hops, raise, resumeChannel });
  const { adapters, channelGate, health, renew } = channels;
  const conversations = createConversations(shell, {
    ...ground,
    ...{ hops, channels: channels.channels, channelGate, health, renew, callTexts: calls.texts },
    retentionFirstMs: messageRetentionFirstMs,
  });
  const transfers = createTransfers(shell, { ...ground, adapters });
  const handlers = { ...calls.jobs, ...conversations.jobs, ...channels.jobs, ...deliveries.jobs };
  const { app, system, keyRing, changes, worker } = ground;
  const { parts, ...served } = joined([
    ...[{ parts: groundParts }, transfers, endpoints, channels, conversations, calls],
    ...[rewrapValues(shell, { columns, app, system, keyRing }), deliveries, subscriptions],
  ]);
  return shell.createService({
    handler: shell.createApp({ ...served, idempotency: changes.idempotency }),
    rpcs: [participant(shell, { config, system, forgetUser: forgetUser(app), transfers: transfers.rpcs })],
    parts: [...parts, worker(handlers, timing)],
  });
}
