import type { Changes } from '@gatehouse/audited-changes/changes';
import { channelTypes } from '@gatehouse/contract/channel-instances';
import { ConsentTickets } from '@gatehouse/public-access/consent-tickets';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { WebhookConfig } from '../config.ts';
import type { TenantClient } from '../clients/tenant-client.ts';
import type { Guards } from '../shared/guards.ts';
import { overdueMs, upkeepBatch } from '../shared/upkeep.ts';
import type { Egresses } from './adapter.ts';
import { adapterOf, type ChannelAdapters } from './adapters.ts';
import type { ConnectedChannel } from './channel.ts';
import type { ChannelHealth } from './channel-health-store.ts';
import type { ChannelQueue } from './channel-queue-store.ts';
import type { ChannelStore } from './channel-store.ts';
import { findDueRefreshes } from './channel-system-store.ts';
import type { ChannelTokens } from './channel-tokens.ts';
import { consentLinkHandlers, consentPageHandlers } from './consent-handlers.ts';
import { ChannelConsentKind } from './consent-kind.ts';
import { consentStore } from './consent-store.ts';
import type { OpenChannels } from './open-channels.ts';
import { refreshTokens } from './refresh-tokens-job.ts';
import { TokenStore } from './token-store.ts';

export interface ConsentsOptions {
  config: WebhookConfig;
  app: Pool;
  system: Pool;
  /** For requests that need no key. */
  unauthenticatedPool: Pool;
  tenants: TenantClient;
  changes: Changes;
  guards: Guards;
  adapters: ChannelAdapters;
  store: ChannelStore;
  channels: OpenChannels;
  tokens: ChannelTokens;
  health: ChannelHealth;
  queue: ChannelQueue;
  /** The egresses of the platform. */
  egresses: Egresses;
  resumeChannel: (channel: { tenantId: string; id: string }) => Promise<void>;
}

/** Consents that connect channels, of each type that needs one, and the tokens that they bring. */
export function createConsents({ log }: Shell, options: ConsentsOptions) {
  const { config, app, system, unauthenticatedPool, tenants, changes, adapters, store, channels } = options;
  const { tokens, health, queue, egresses, resumeChannel } = options;
  const { refusals } = options.guards;
  const { SECRETS_KEYRING: keyRing, PUBLIC_URL: publicUrl } = config;
  const tokenStore = new TokenStore(app);
  const tickets = new ConsentTickets({ service: 'webhook', app, system: unauthenticatedPool, keyRing, log });
  const kinds = channelTypes.flatMap((type) => {
    const { consents, accounts } = adapterOf(adapters, type);
    if (consents === undefined) return [];
    if (accounts === undefined) throw new Error(`consents of ${type} need accounts`);
    const generic = { type, consents, accounts, egresses, tickets, channels, tokens, resumeChannel, log };
    return new ChannelConsentKind({ ...generic, store: consentStore(app, changes) });
  });
  const served = kinds.map((kind) => ({ kind, channels: store, tickets, refusals, changes, app, publicUrl }));
  return {
    handlers: Object.assign({}, ...served.map(consentLinkHandlers)) as ReturnType<typeof consentLinkHandlers>,
    rawHandlers: Object.assign({}, ...served.map(consentPageHandlers)) as ReturnType<
      typeof consentPageHandlers
    >,
    jobs: {
      refresh_tokens: refreshTokens({
        ...{ store: tokenStore, channels, tokens, tenants, egresses, health, resumeChannel },
      }),
    },
    parts: [
      tickets,
      new PeriodicWork({
        task: 'queue refreshes of tokens',
        log,
        everyMs: overdueMs,
        round: async () => {
          for (const channel of await findDueRefreshes(system, upkeepBatch))
            await withTenant(app, channel.tenantId, (db) => queue.refreshDue(db, channel));
          return false;
        },
      }),
    ],
    /** Gets a new access token for one that the provider refuses. Returns false where that can't help. */
    renew: async (channel: ConnectedChannel): Promise<boolean> => {
      if (channel.accessToken === null) return false;
      const verdict = await tokenStore.refused(channel, channel.accessToken);
      if (verdict === 'refresh') await withTenant(app, channel.tenantId, (db) => queue.refresh(db, channel));
      return verdict !== 'lost';
    },
  };
}
