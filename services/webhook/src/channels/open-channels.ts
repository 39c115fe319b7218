import type { Logger } from '@gatehouse/kit/log';
import type { WebhookSecrets } from '../secrets/webhook-secrets.ts';
import type { ChannelStore } from './channel-store.ts';
import type { ChannelAdapter, OpenChannel, WaysOf } from './adapter.ts';
import { adapterOf, type ChannelAdapters } from './adapters.ts';
import type { Channel, ConnectedChannel } from './channel.ts';
import type { ChannelTokens } from './channel-tokens.ts';
import { placeOf } from './channel-gate.ts';

/** A channel that can be used now. */
export interface UsableChannel {
  channel: ConnectedChannel;
  adapter: ChannelAdapter<Channel['type']>;
  open: OpenChannel;
}

export interface OpenChannelsOptions {
  store: ChannelStore;
  secrets: WebhookSecrets;
  adapters: ChannelAdapters;
  tokens: ChannelTokens;
}

/** Channels with their credentials decrypted. */
export class OpenChannels {
  readonly #store: ChannelStore;
  readonly #secrets: WebhookSecrets;
  readonly #adapters: ChannelAdapters;

  readonly #tokens: ChannelTokens;

  constructor(options: OpenChannelsOptions) {
    this.#tokens = options.tokens;
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
    const place = placeOf(channel);
    const credentials = this.#secrets.open(place, channel.credentials);
    const previous = this.#secrets.openOld(place, channel.previousCredentials);
    const { config, accessToken: sealed } = channel;
    const accessToken = sealed === null ? null : this.#tokens.open(channel, 'access_token', sealed);
    return {
      channel,
      adapter: adapterOf(this.#adapters, channel.type),
      open: {
        ...{ id, config, accessToken },
        credentials: JSON.parse(credentials) as OpenChannel['credentials'],
        previousCredentials: previous === null ? null : (JSON.parse(previous) as OpenChannel['credentials']),
      },
    };
  }
}

/** Providers show it for about as long. */
const everyMs = 4_500;

/** Shows that an answer is being written until it is stopped, where the provider can. A failure of that is logged. */
export async function showTyping(
  { channels, adapters, waysOf }: { channels: OpenChannels; adapters: ChannelAdapters; waysOf: WaysOf },
  { tenantId, id, type }: Channel,
  conversation: string,
  log: Logger,
): Promise<{ stop: () => void }> {
  const adapter = adapterOf(adapters, type);
  const usable = adapter.typing === undefined ? null : await channels.open(tenantId, id);
  if (usable === null) return { stop: () => undefined };
  let isShowing = false;
  const show = async (): Promise<void> => {
    // One at a time, however slow the provider is.
    if (isShowing) return;
    isShowing = true;
    try {
      await adapter.typing?.(conversation, usable.open, waysOf(tenantId));
    } catch (error) {
      log.debug({ err: error, channel_id: id }, 'failed to show that an answer is being written');
    }
    isShowing = false;
  };
  void show();
  const timer = setInterval(() => void show(), everyMs);
  return { stop: () => clearInterval(timer) };
}
