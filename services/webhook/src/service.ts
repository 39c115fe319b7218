import { joined } from '@gatehouse/shell/feature';
import { participant } from '@gatehouse/shell/participant';
import { createPools } from '@gatehouse/shell/pools';
import type { Service } from '@gatehouse/shell/service';
import { Shell } from '@gatehouse/shell/shell';
import { createCalls } from './calls/create-calls.ts';
import { createChannels } from './channels/create-channels.ts';
import { migrations, type WebhookConfig, type WebhookOverrides } from './config.ts';
import { createConversations } from './conversations/create-conversations.ts';
import { createDeliveries } from './deliveries/create-deliveries.ts';
import { createEndpoints } from './endpoints/create-endpoints.ts';
import { createForgetting } from './forgetting/create-forgetting.ts';
import { createJobs, createJobWorker } from './jobs.ts';
import { createClients } from './clients/create-clients.ts';
import { rewrapColumns } from './sealed-columns.ts';
import { createSecrets } from './secrets/create-secrets.ts';
import { createGuards } from './shared/guards.ts';
import { createSubscriptions } from './subscriptions/create-subscriptions.ts';
import { createTransfers } from './transfers/create-transfers.ts';

/** The webhook service: what triggers agents from outside, webhooks and channels. Opens nothing before `start`. */
export async function createService(
  config: WebhookConfig,
  { inJobMs, jobTiming: timing = {}, ...overrides }: WebhookOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('webhook', config, overrides);
  const { DATABASE_URL: url, DATABASE_POOL: max, SECRETS_KEYRING: keyRing } = config;
  const { WEBHOOK_ALLOW_TOKEN: allowToken } = config;
  const pools = createPools(shell, {
    url,
    migrations,
    pools: {
      app: { role: 'webhook_app', waits: 'tenants', max },
      system: { role: 'webhook_system', waits: 'all', max: Math.ceil(max / 2) },
      // Work for requests without a key, apart from all other work.
      gate: { role: 'webhook_system', waits: 'unproved', max: Math.ceil(max / 5) },
    },
  });
  const { app, system, gate: unauthenticatedPool } = pools;
  const jobs = createJobs(shell, system);
  const peers = createClients(shell, { config, app, system, inJobMs });
  const guards = createGuards(shell, config, unauthenticatedPool);
  const sealing = createSecrets(shell, { app, system, keyRing });
  const common = { ...pools, ...peers, config, keyRing, jobs, guards, secrets: sealing.secrets };
  const deliveries = createDeliveries(shell, {
    ...common,
    resultOf: (tenantId, callId) => calls.resultOf(tenantId, callId),
    raise: (db, tenantId, event) => subscriptions.raise(db, tenantId, event),
  });
  const { hops } = deliveries;
  const endpoints = createEndpoints(shell, { ...common, unauthenticatedPool, allowToken });
  const calls = createCalls(shell, { ...deliveries, ...endpoints, ...common });
  const subscriptions = createSubscriptions(shell, { ...deliveries, ...common });
  const { raise } = subscriptions;
  const resumeChannel = (channel: { tenantId: string; id: string }) => conversations.resumeChannel(channel);
  const channels = createChannels(shell, { ...common, unauthenticatedPool, hops, raise, resumeChannel });
  const conversations = createConversations(shell, { ...channels, ...common, hops });
  const transfers = createTransfers(shell, { ...channels, ...common });
  const rewrapping = rewrapColumns(shell, { app, system, keyRing });
  const inner = [peers, transfers, endpoints, guards];
  const outer = [channels, conversations, calls, sealing, rewrapping, deliveries, subscriptions];
  const { parts, ...served } = joined([...inner, ...outer]);
  const handlers = { ...calls.jobs, ...conversations.jobs, ...channels.jobs, ...deliveries.jobs };
  return shell.createService({
    handler: shell.createApp({ ...served, idempotency: peers.changes.idempotency }),
    rpcs: [participant(shell, { config, system, ...createForgetting(app), transfers: transfers.rpcs })],
    parts: [...parts, createJobWorker(shell, config, { jobs, handlers, timing })],
  });
}
