import { EgressError } from '@gatehouse/egress/errors';
import type { JobHandler } from '@gatehouse/jobs/task';
import type { Checked } from './adapter.ts';
import type { Ground } from '../ground.ts';
import type { Ref } from '../shared/ref.ts';
import type { ChannelHealth } from './channel-health-store.ts';
import type { OpenChannels, UsableChannel } from './open-channels.ts';

/** Asks the provider of a new or changed channel whether it accepts the credentials. */
export function checkChannel({
  channels,
  health,
  tenants,
  resumeChannel,
}: Pick<Ground, 'tenants'> & {
  channels: OpenChannels;
  health: ChannelHealth;
  /** Goes on with what waits in the conversations of a channel. */
  resumeChannel: (channel: Ref) => Promise<void>;
}): JobHandler<{ channelId: string }> {
  return async ({ channelId }, { tenantId, lastAttempt }) => {
    const usable = await channels.open(tenantId, channelId);
    if (usable === null || !usable.channel.enabled || usable.channel.closed) return;
    // Throws while the tenant is not active: this is tried again.
    await tenants.assertActive(tenantId);
    // Only a consent connects it.
    if (usable.adapter.needsConsent === true)
      return usable.open.accessToken === null ? undefined : resumeChannel(usable.channel);
    const { channel } = usable;
    const checked = await check(usable);
    if (checked.kind === 'retry') {
      await health.note(channel, { status: 'error', status_reason: checked.reason });
      if (!lastAttempt) throw new Error('the provider could not be asked');
    } else if (checked.kind === 'unauthorized')
      await health.note(channel, { status: 'needs_reauth', status_reason: checked.reason });
    else {
      await health.note(channel, { status: 'connected', status_reason: null });
      await resumeChannel(channel);
    }
  };

  async function check({ adapter, open, egresses }: UsableChannel): Promise<Checked> {
    if (adapter.check === undefined) return { kind: 'connected' };
    try {
      return await adapter.check(open, egresses);
    } catch (error) {
      if (!(error instanceof EgressError)) throw error;
      return { kind: 'retry', reason: error.message };
    }
  }
}
