import { AllowList } from '@gatehouse/egress/allow-list';
import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import { observeEgress } from '@gatehouse/egress/metrics';
import { batchedFinder } from '@gatehouse/kit/batched';
import type { Shell } from '@gatehouse/shell/shell';
import type { Hops } from '../deliveries/hops.ts';
import type { Ground } from '../ground.ts';
import type { RaiseEvent } from '../shared/raise-event.ts';
import type { Ref } from '../shared/ref.ts';
import { removal } from '../shared/removal-system-store.ts';
import type { EgressesOf } from './adapter.ts';
import { channelAdapters, providerHosts } from './adapters.ts';
import type { InboundChannel } from './channel.ts';
import { ChannelGate } from './channel-gate.ts';
import { channelHandlers } from './channel-handlers.ts';
import { ChannelHealth } from './channel-health-store.ts';
import { ChannelQueue } from './channel-queue-store.ts';
import { ChannelStore } from './channel-store.ts';
import { findSealedChannels, removableChannels } from './channel-system-store.ts';
import { checkChannel } from './check-channel-job.ts';
import { OpenChannels } from './open-channels.ts';
import { createZalo } from './providers/zalo/create-zalo.ts';

export interface ChannelsOptions extends Ground {
  hops: Hops;
  raise: RaiseEvent;
  /** Goes on with what waits in the conversations of a channel. */
  resumeChannel: (channel: Ref) => Promise<void>;
}

/** Channels: their settings and credentials, consents and tokens, and the egresses to their providers. */
export function createChannels(shell: Shell, options: ChannelsOptions) {
  const { config, app, system, unauthenticatedPool, secrets, hops, raise } = options;
  const { log } = shell;
  const { PUBLIC_URL: publicUrl } = config;
  const { egressesOf, ...egresses } = createEgresses(shell, options);
  const adapters = channelAdapters(config, hops);
  const store = new ChannelStore(app);
  const queue = new ChannelQueue(options.jobs);
  const channels = new OpenChannels({
    find: (tenantId, id) => store.find(tenantId, id),
    findConnected: (tenantId, id) => store.open(tenantId, id),
    ...{ secrets, adapters, egressesOf },
  });
  const health = new ChannelHealth({ store, raise, log });
  const { provider } = egressesOf(null);
  const zalo = createZalo(shell, { ...options, store, channels, queue, health, provider });
  return {
    handlers: {
      ...channelHandlers({ ...options, channels: store, adapters, queue, publicUrl }),
      ...zalo.handlers,
    },
    rawHandlers: zalo.rawHandlers,
    jobs: { check_channel: checkChannel({ ...options, channels, health }), ...zalo.jobs },
    parts: [...egresses.parts, ...zalo.parts, removal(log, system, removableChannels)],
    channelGate: new ChannelGate({
      ...options,
      ...{ adapters, log },
      find: batchedFinder(
        (ids) => findSealedChannels(unauthenticatedPool, ids),
        ({ id }: InboundChannel) => id,
      ),
    }),
    renew: zalo.renew,
    ...{ adapters, channels, health },
  };
}

/** The egresses to providers, which the operator names, and to URLs of tenants. */
function createEgresses({ registry }: Shell, { config, egress: tenants }: Ground) {
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
