import type { Logger } from '@gatehouse/kit/log';
import type { Channel } from '../channels/channel.ts';
import type { OpenChannels } from '../channels/open-channels.ts';
import { typingMs } from '../bounds.ts';

/** Shows an answer as being written until it is stopped, where the provider can. A failure is logged. */
export async function showTyping(
  channels: OpenChannels,
  channel: Channel,
  conversation: string,
  log: Logger,
): Promise<{ stop: () => void }> {
  const { tenantId, id } = channel;
  const adapter = channels.adapterOf(channel);
  const usable = adapter.typing === undefined ? null : await channels.open(tenantId, id);
  if (usable === null) return { stop: () => undefined };
  let isShowing = false;
  const show = async (): Promise<void> => {
    // One at a time, however slow the provider is.
    if (isShowing) return;
    isShowing = true;
    try {
      await adapter.typing?.(conversation, usable.open, usable.egresses);
    } catch (error) {
      log.debug({ err: error, channel_id: id }, 'failed to show that an answer is being written');
    }
    isShowing = false;
  };
  void show();
  const timer = setInterval(() => void show(), typingMs);
  return { stop: () => clearInterval(timer) };
}
