import type { JobHandler } from '@gatehouse/jobs/task';
import { newId } from '@gatehouse/kit/ids';
import type { ChannelHealth } from './channel-health-store.ts';
import type { OpenChannels } from './open-channels.ts';
import type { ChannelTokens } from './channel-tokens.ts';
import { ConsentRefused, type Egresses } from './adapter.ts';
import type { TenantClient } from '../clients/tenant-client.ts';
import type { TokenStore } from './token-store.ts';

export interface RefreshDependencies {
  channels: OpenChannels;
  tokens: ChannelTokens;
  store: TokenStore;
  tenants: TenantClient;
  /** The platform's: a refresh must not wait for what a tenant sends. */
  egresses: Egresses;
  health: ChannelHealth;
  /** Goes on with what waits in the conversations of a channel. */
  resumeChannel: (channel: { tenantId: string; id: string }) => Promise<void>;
}

/** After a refresh that the provider could not be asked for. */
const againS = 30;
/** Until it is asked again whether a suspended tenant is active. */
const suspendedS = 600;

/**
 * Refreshes the tokens of a channel, if that is due. A refresh token is good for one refresh, so one replica at a time
 * asks, and its answer counts while no consent has come meanwhile.
 */
export function refreshTokens(dependencies: RefreshDependencies): JobHandler<{ channelId: string }> {
  const { channels, tokens, store, tenants, egresses, health, resumeChannel } = dependencies;
  return async ({ channelId: id }, { tenantId, signal, log }) => {
    const usable = await channels.open(tenantId, id);
    const consents = usable?.adapter.consents;
    if (usable === null || consents === undefined || usable.channel.closed) return;
    const claim = newId();
    const sealed = await store.claimRefresh({ tenantId, id }, claim);
    if (sealed === null) return;
    const { channel, open } = usable;
    // The refresh token outlives a suspension of weeks.
    if (!(await tenants.isActive(tenantId))) return store.release({ tenantId, id }, claim, suspendedS);
    // After the deadline of the job, an answer could come when the claim is over and the token used elsewhere.
    signal.throwIfAborted();
    try {
      const refreshToken = tokens.open({ tenantId, id }, 'refresh_token', sealed);
      const fresh = await consents.refresh(open, refreshToken, egresses);
      if (!(await store.refreshed({ tenantId, id }, claim, tokens.seal({ tenantId, id }, fresh)))) return;
      await health.note(channel, { status: 'connected', status_reason: null });
      await resumeChannel({ tenantId, id });
    } catch (error) {
      await store.release({ tenantId, id }, claim, againS);
      if (!(error instanceof ConsentRefused)) throw error;
      log.warn({ err: error, channel_id: id }, 'the provider refuses to refresh the tokens of a channel');
      await health.note(channel, { status: 'needs_reauth', status_reason: error.message });
    }
  };
}
