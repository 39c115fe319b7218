import { withTenant } from '@gatehouse/pg/pool';
import { ConsentTickets } from '@gatehouse/public-access/consent-tickets';
import type { Shell } from '@gatehouse/shell/shell';
import type { Ground } from '../../../ground.ts';
import type { Ref } from '../../../shared/ref.ts';
import { queueOverdue } from '../../../shared/upkeep.ts';
import type { Egresses } from '../../adapter.ts';
import type { ConnectedChannel } from '../../channel.ts';
import type { ChannelHealth } from '../../channel-health-store.ts';
import type { ChannelQueue } from '../../channel-queue-store.ts';
import type { ChannelStore } from '../../channel-store.ts';
import { findDueRefreshes } from '../../channel-system-store.ts';
import type { OpenChannels } from '../../open-channels.ts';
import { zaloConsentHandlers } from './consent-handlers.ts';
import { ZaloConsents } from './consents-store.ts';
import { refreshTokens } from './refresh-tokens-job.ts';
import { TokenStore } from './token-store.ts';
import { ZaloOAuth } from './zalo-oauth.ts';

export interface ZaloOptions extends Ground {
  store: ChannelStore;
  channels: OpenChannels;
  queue: ChannelQueue;
  health: ChannelHealth;
  /** The platform's, as no tenant pays for a browser, and a refresh must not wait for what a tenant sends. */
  provider: Egresses['provider'];
  /** Goes on with what waits in the conversations of a channel. */
  resumeChannel: (channel: Ref) => Promise<void>;
}

/** Consents for channels of Zalo, and their tokens. */
export function createZalo({ log }: Shell, options: ZaloOptions) {
  const { config, app, system, unauthenticatedPool, keyRing, queue, store, provider } = options;
  const { PUBLIC_URL: publicUrl } = config;
  const tokens = new TokenStore(app);
  const oauth = new ZaloOAuth(config, provider);
  const tickets = new ConsentTickets({ service: 'webhook', app, system: unauthenticatedPool, keyRing, log });
  const kind = new ZaloConsents({ ...options, oauth, tickets, log });
  return {
    ...zaloConsentHandlers({ ...options, channels: store, tickets, kind, publicUrl }),
    jobs: { refresh_tokens: refreshTokens({ ...options, store: tokens, oauth }) },
    parts: [
      ...tickets.parts,
      queueOverdue({
        ...{ what: 'refreshes of tokens', app, log },
        find: (limit) => findDueRefreshes(system, limit),
        add: (db, channel) => queue.refreshDue(db, channel),
      }),
    ],
    /** Gets a new access token for one refused by the provider. Returns false where a new one can't help. */
    renew: async (channel: ConnectedChannel): Promise<boolean> => {
      if (channel.accessToken === null) return false;
      const verdict = await tokens.refused(channel, channel.accessToken);
      if (verdict === 'refresh') await withTenant(app, channel.tenantId, (db) => queue.refresh(db, channel));
      return verdict !== 'lost';
    },
  };
}
