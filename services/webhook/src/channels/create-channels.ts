import type { Changes } from '@gatehouse/audited-changes/changes';
import { AllowList } from '@gatehouse/egress/allow-list';
import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import { observeEgress } from '@gatehouse/egress/metrics';
import type { Jobs } from '@gatehouse/jobs/jobs';
import { batchedFinder } from '@gatehouse/kit/batched';
import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { WebhookConfig } from '../config.ts';
import type { Hops } from '../deliveries/hops.ts';
import type { AgentClient } from '../clients/agent-client.ts';
import type { TenantClient } from '../clients/tenant-client.ts';
import type { WebhookSecrets } from '../secrets/webhook-secrets.ts';
import type { Guards } from '../shared/guards.ts';
import type { RaiseEvent } from '../shared/raise-event.ts';
import { removeDeleted } from '../shared/removal-system-store.ts';
import { cleaning } from '../shared/upkeep.ts';
import type { EgressesOf } from './adapter.ts';
import { channelAdapters, providerHosts } from './adapters.ts';
import type { InboundChannel } from './channel.ts';
import { ChannelGate } from './channel-gate.ts';
import { channelHandlers } from './channel-handlers.ts';
import { ChannelHealth } from './channel-health-store.ts';
import { ChannelQueue } from './channel-queue-store.ts';
import { ChannelStore } from './channel-store.ts';
import { findSealedChannels, removableChannels } from './channel-system-store.ts';
import type { channelTasks } from './channel-tasks.ts';
import { ChannelTokens } from './channel-tokens.ts';
import { checkChannel } from './check-channel-job.ts';
import { createConsents } from './create-consents.ts';
import { OpenChannels } from './open-channels.ts';

export interface ChannelsOptions {
  config: WebhookConfig;
  app: Pool;
  system: Pool;
  /** For requests that need no key. */
  unauthenticatedPool: Pool;
  jobs: Jobs<typeof channelTasks>;
  agents: AgentClient;
  tenants: TenantClient;
  changes: Changes;
  secrets: WebhookSecrets;
  guards: Guards;
  hops: Hops;
  raise: RaiseEvent;
  /** Goes on with what waits in the conversations of a channel. */
  resumeChannel: (channel: { tenantId: string; id: string }) => Promise<void>;
}

/** Channels: their settings and credentials, and the egresses to their providers. */
export function createChannels(shell: Shell, options: ChannelsOptions) {
  const { config, app, system, unauthenticatedPool, jobs, agents, tenants, changes, secrets } = options;
  const { guards, hops, raise, resumeChannel } = options;
  const { log } = shell;
  const { guard, refusals } = guards;
  const { PUBLIC_URL: publicUrl } = config;
  const { egressesOf, ...egresses } = createEgresses(shell, config, guards);
  const adapters = channelAdapters(config, hops);
  const store = new ChannelStore(app);
  const tokens = new ChannelTokens(secrets);
  const queue = new ChannelQueue(jobs);
  const channels = new OpenChannels({
    find: (tenantId, id) => store.find(tenantId, id),
    findConnected: (tenantId, id) => store.open(tenantId, id),
    ...{ secrets, adapters, tokens, egressesOf },
  });
  const health = new ChannelHealth({ store, raise, log });
  const consents = createConsents(shell, {
    ...{ config, app, system, unauthenticatedPool, tenants, changes, guards, resumeChannel },
    ...{ adapters, store, channels, tokens, health, queue, egresses: egressesOf(null) },
  });
  return {
    handlers: {
      ...channelHandlers({
        channels: store,
        ...{ adapters, queue, agents, guard, secrets, changes, publicUrl },
      }),
      ...consents.handlers,
    },
    rawHandlers: consents.rawHandlers,
    jobs: { check_channel: checkChannel({ channels, health, tenants, resumeChannel }), ...consents.jobs },
    parts: [
      ...egresses.parts,
      ...consents.parts,
      cleaning(log, 'remove deleted channels', (limit) => removeDeleted(system, removableChannels, limit)),
    ],
    channelGate: new ChannelGate({
      find: batchedFinder(
        (ids) => findSealedChannels(unauthenticatedPool, ids),
        ({ id }: InboundChannel) => id,
      ),
      ...{ adapters, secrets, refusals, log },
    }),
    renew: consents.renew,
    ...{ adapters, channels, health },
  };
}

/** The egresses to providers, which the operator names, and to URLs of tenants. */
function createEgresses({ registry }: Shell, config: WebhookConfig, { egress: tenants }: Guards) {
  const guard = new Guard(new AllowList(providerHosts(config)));
  const providers = new Egress({ guard });
  // Signs of typing may hang, and must not take the calls of replies.
  const typing = new Egress({ guard });
  observeEgress(registry, { tenants, providers, typing });
  const egressesOf: EgressesOf = (tenantId) => ({
    tenant: (request) => tenants.request({ tenantId, ...request }),
    provider: (request) => providers.request({ tenantId, ...request }),
    typing: (request) => typing.request({ tenantId, ...request }),
  });
  return { egressesOf, parts: [providers, typing] };
}
