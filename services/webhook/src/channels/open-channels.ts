import type { WebhookSecrets } from '../secrets/webhook-secrets.ts';
import type { ChannelAdapter, OpenChannel, Egresses, EgressesOf } from './adapter.ts';
import { adapterOf, type ChannelAdapters } from './adapters.ts';
import { placeOf, type Channel, type ConnectedChannel } from './channel.ts';

/** A channel ready for use. */
export interface UsableChannel<Type extends Channel['type'] = Channel['type']> {
  channel: ConnectedChannel;
  adapter: ChannelAdapter<Type>;
  open: OpenChannel<Type>;
  egresses: Egresses;
}

export interface OpenChannelsOptions {
  find: (tenantId: string, id: string) => Promise<Channel | null>;
  findConnected: (tenantId: string, id: string) => Promise<ConnectedChannel | null>;
  secrets: WebhookSecrets;
  adapters: ChannelAdapters;
  egressesOf: EgressesOf;
}

/** Channels with their credentials decrypted. */
export class OpenChannels {
  readonly #options: OpenChannelsOptions;

  constructor(options: OpenChannelsOptions) {
    this.#options = options;
  }

  find(tenantId: string, id: string): Promise<Channel | null> {
    return this.#options.find(tenantId, id);
  }

  adapterOf({ type }: Pick<Channel, 'type'>): ChannelAdapter<Channel['type']> {
    return adapterOf(this.#options.adapters, type);
  }

  /** Null if the channel is missing. */
  async open(tenantId: string, id: string): Promise<UsableChannel | null> {
    const { findConnected, secrets, egressesOf } = this.#options;
    const channel = await findConnected(tenantId, id);
    if (channel === null) return null;
    const place = placeOf(channel);
    const credentials = secrets.open(place, channel.credentials);
    const previous = secrets.openOld(place, channel.previousCredentials);
    const { config, accessToken: sealed } = channel;
    const accessToken = sealed && secrets.open(placeOf(channel, 'access_token'), sealed);
    return {
      channel,
      adapter: this.adapterOf(channel),
      open: {
        ...{ id, config, accessToken },
        credentials: JSON.parse(credentials) as OpenChannel['credentials'],
        previousCredentials: previous === null ? null : (JSON.parse(previous) as OpenChannel['credentials']),
      },
      egresses: egressesOf(tenantId),
    };
  }
}
