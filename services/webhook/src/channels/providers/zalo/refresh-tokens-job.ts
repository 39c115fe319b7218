import type { JobHandler } from '@gatehouse/jobs/task';
import { newId } from '@gatehouse/kit/ids';
import type { Ground } from '../../../ground.ts';
import type { Ref } from '../../../shared/ref.ts';
import { placeOf } from '../../channel.ts';
import type { ChannelHealth } from '../../channel-health-store.ts';
import type { OpenChannels, UsableChannel } from '../../open-channels.ts';
import { ConsentRefused, type ZaloOAuth } from './zalo-oauth.ts';
import { sealedTokens, type TokenStore } from './token-store.ts';
import { refreshAgainS, suspendedS } from '../../../bounds.ts';

export interface RefreshDependencies extends Pick<Ground, 'secrets' | 'tenants'> {
  channels: OpenChannels;
  store: TokenStore;
  oauth: ZaloOAuth;
  health: ChannelHealth;
  /** Goes on with what waits in the conversations of a channel. */
  resumeChannel: (channel: Ref) => Promise<void>;
}

/**
 * Refreshes the tokens of a channel, if they are due. A refresh token is good for one refresh: one replica at a time
 * asks, and its answer counts while no consent has come meanwhile.
 */
export function refreshTokens(dependencies: RefreshDependencies): JobHandler<{ channelId: string }> {
  const { channels, secrets, store, tenants, oauth, health, resumeChannel } = dependencies;
  return async ({ channelId: id }, { tenantId, signal, log }) => {
    const usable = await channels.open(tenantId, id);
    if (usable === null || usable.channel.type !== 'zalo_oa' || usable.channel.closed) return;
    const claim = newId();
    const sealed = await store.claimRefresh({ tenantId, id }, claim);
    if (sealed === null) return;
    const { channel, open } = usable as UsableChannel<'zalo_oa'>;
    // The refresh token outlives a suspension of weeks.
    if (!(await tenants.isActive(tenantId))) return store.release({ tenantId, id }, claim, suspendedS);
    // After the deadline of the job, an answer could come when the claim is over and the token used elsewhere.
    signal.throwIfAborted();
    try {
      const refreshToken = secrets.open(placeOf(channel, 'refresh_token'), sealed);
      const fresh = sealedTokens(secrets, channel, await oauth.refresh(open, refreshToken));
      if (!(await store.refreshed({ tenantId, id }, claim, fresh))) return;
      await health.note(channel, { status: 'connected', status_reason: null });
      await resumeChannel({ tenantId, id });
    } catch (error) {
      await store.release({ tenantId, id }, claim, refreshAgainS);
      if (!(error instanceof ConsentRefused)) throw error;
      log.warn({ err: error, channel_id: id }, 'the provider refuses to refresh the tokens of a channel');
      await health.note(channel, { status: 'needs_reauth', status_reason: error.message });
    }
  };
}
