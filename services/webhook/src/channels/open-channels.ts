import type { Logger } from '@gatehouse/kit/log';
import type { WebhookSecrets } from '../secrets/webhook-secrets.ts';
import type { ChannelStore } from '../store/channel-store.ts';
import type { ChannelAdapter, OpenChannel, Ways } from './adapter.ts';
import { adapterOf, type ChannelAdapters } from './adapters.ts';
import type { Channel, SealedChannel } from './channel.ts';
import { placeOf } from './channel-gate.ts';

/** A channel that can be used now. */
export interface UsableChannel {
  channel: SealedChannel & { pausedUntil: Date | null };
  adapter: ChannelAdapter<Channel['type']>;
  open: OpenChannel;
}

/** Channels with their credentials decrypted. */
export class OpenChannels {
  readonly #store: ChannelStore;
  readonly #secrets: WebhookSecrets;
  readonly #adapters: ChannelAdapters;

  constructor(options: { store: ChannelStore; secrets: WebhookSecrets; adapters: ChannelAdapters }) {
    this.#store = options.store;
    this.#secrets = options.secrets;
    this.#adapters = options.adapters;
  }

  find(tenantId: string, id: string): Promise<Channel | null> {
    return this.#store.find(tenantId, id);
  }

  /** Null if there is no such channel. */
  async open(tenantId: string, id: string): Promise<UsableChannel | null> {
    const channel = await this.#store.open(tenantId, id);
    if (channel === null) return null;
    const credentials = this.#secrets.open(placeOf(channel), channel.credentials);
    const { config } = channel;
    return {
      channel,
      adapter: adapterOf(this.#adapters, channel.type),
      open: { id, config, credentials: JSON.parse(credentials) as OpenChannel['credentials'] },
    };
  }
}

/** Providers show it for about as long. */
const everyMs = 4_500;

/** Shows that an answer is being written until it is stopped, where the provider can. Never throws. */
export async function showTyping(
  { channels, adapters, ways }: { channels: OpenChannels; adapters: ChannelAdapters; ways: Ways },
  { tenantId, id, type }: Channel,
  conversation: string,
  log: Logger,
): Promise<{ stop: () => void }> {
  const adapter = adapterOf(adapters, type);
  const usable = adapter.typing === undefined ? null : await channels.open(tenantId, id);
  if (usable === null) return { stop: () => undefined };
  const show = (): void => {
    adapter.typing?.(conversation, usable.open, ways).catch((error: unknown) => {
      log.debug({ err: error, channel_id: id }, 'failed to show that an answer is being written');
    });
  };
  show();
  const timer = setInterval(show, everyMs);
  return { stop: () => clearInterval(timer) };
}
