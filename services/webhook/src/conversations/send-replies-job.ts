import { EgressError } from '@gatehouse/egress/errors';
import type { JobHandler } from '@gatehouse/jobs/task';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import type { Moved, Sent } from '../channels/adapter.ts';
import type { ConnectedChannel } from '../channels/channel.ts';
import type { ChannelMetrics } from './channel-metrics.ts';
import type { ChannelTexts } from './channel-texts.ts';
import type { OpenChannels, UsableChannel } from '../channels/open-channels.ts';
import type { Ground } from '../ground.ts';
import type { Ref } from '../shared/ref.ts';
import type { ChannelHealth } from '../channels/channel-health-store.ts';
import type { ClaimedReply, ReplyStore } from './reply-store.ts';
import { dayS, pauseS } from '../bounds.ts';

export interface SendDependencies extends Pick<Ground, 'tenants'> {
  channels: OpenChannels;
  health: ChannelHealth;
  replies: ReplyStore;
  texts: ChannelTexts;
  metrics: Pick<ChannelMetrics, 'attempted'>;
  /** Lets the conversation of a reply go on under another id, where the reply is due at once. Returns false if it does already. */
  move: (reply: ClaimedReply, to: Moved) => Promise<boolean>;
  /** Lets the conversation of a sent reply go on under the provider's id of it. */
  follow: (reply: ClaimedReply, opened: string) => Promise<unknown>;
  /** Gets a new access token for one refused by the provider. Returns false where a new one can't help. */
  renew: (channel: ConnectedChannel) => Promise<boolean>;
  /** Goes on with a conversation in some seconds. */
  later: (conversation: Ref, afterS: number) => Promise<void>;
}

/** Seconds after each failed attempt until the next one; the last is repeated. */
const scheduleS = [1, 2, 5, 10, 20, 30, 60];

/**
 * Sends the replies of a conversation in order: a failing one holds up those after it. A reply with an unknown outcome
 * is sent again, once the claim of its attempt is over.
 */
export function sendReplies(dependencies: SendDependencies): JobHandler<{ conversationId: string }> {
  const { channels, health, replies, texts, tenants, metrics, renew, later, move, follow } = dependencies;
  return async ({ conversationId }, { tenantId, signal, log }) => {
    for (;;) {
      signal.throwIfAborted();
      const reply = await replies.next(tenantId, conversationId);
      if (reply === null) return;
      const usable = await channels.open(tenantId, reply.instanceId);
      // Waiting replies go on when the channel is enabled or open again, has new credentials, or the tenant is active again.
      if (usable === null || !isUsable(usable) || !(await tenants.isActive(tenantId))) return;
      if (reply.waitS > 0) return later({ tenantId, id: conversationId }, reply.waitS);
      const claimed = await replies.claim(reply);
      // Another attempt has it; or this process stood still, and another one may have it soon.
      if (claimed === null || monotonicMs() > claimed.sendBeforeMs) continue;
      await sendOne(claimed, usable, log);
    }
  };

  async function sendOne(reply: ClaimedReply, usable: UsableChannel, log: Logger): Promise<void> {
    const { channel } = usable;
    const sent = await attempt(reply, usable, log);
    metrics.attempted(channel.type, sent.kind);
    log.debug({ message_id: reply.id, channel_id: channel.id, outcome: sent.kind }, 'sent a reply');
    switch (sent.kind) {
      case 'sent':
        await replies.sent(reply, sent.externalId);
        if (sent.opened !== undefined) await follow(reply, sent.opened);
        return health.note(channel, { status: 'connected', status_reason: null });
      case 'rejected':
        log.warn({ message_id: reply.id, channel_id: channel.id }, 'the provider rejects a reply');
        return replies.fail(reply);
      case 'paused':
        // Providers limit by conversation: others go on, and are limited each by themselves if it is for all.
        if (reply.ageS > dayS) return replies.fail(reply);
        return replies.postpone(reply, Math.min(sent.afterS, dayS));
      case 'moved':
        if (reply.ageS > dayS) return replies.fail(reply);
        // Another attempt, or the provider's own news, may have moved it meanwhile.
        if (!(await move(reply, sent))) await replies.postpone(reply, nextS(reply));
        return;
      case 'unauthorized':
        if (await renew(channel)) return replies.postpone(reply, pauseS);
        await replies.release(reply);
        return health.note(channel, { status: 'needs_reauth', status_reason: sent.reason });
      case 'retry': {
        await health.note(channel, { status: 'error', status_reason: sent.reason });
        if (reply.ageS > dayS) return replies.fail(reply);
        return replies.postpone(reply, nextS(reply));
      }
    }
  }

  async function attempt(
    reply: ClaimedReply,
    { adapter, open, egresses }: UsableChannel,
    log: Logger,
  ): Promise<Sent> {
    const { id, conversation, inReplyTo, hops } = reply;
    try {
      const { text, plainText } = texts.openPiece(reply, reply.text);
      return await adapter.send({ id, conversation, inReplyTo, hops, text, plainText }, open, egresses);
    } catch (error) {
      if (!(error instanceof EgressError)) throw error;
      log.debug({ err: error, message_id: id }, 'failed to send a reply');
      return { kind: 'retry', reason: error.message };
    }
  }
}

/** Seconds until the next attempt, after a failed one. */
function nextS({ attempts }: ClaimedReply): number {
  return scheduleS[attempts] ?? scheduleS.at(-1) ?? 0;
}

/** Without the needed consent, a channel sends nothing. */
function isUsable({ channel, adapter }: UsableChannel): boolean {
  const isConnected = adapter.needsConsent !== true || channel.accessToken !== null;
  return channel.enabled && !channel.closed && channel.status !== 'needs_reauth' && isConnected;
}
