import type { Logger } from '@gatehouse/kit/log';
import { newId } from '@gatehouse/kit/ids';
import type { Refusals } from '@gatehouse/public-access/refusals';
import type { VerifiableRequest } from '../signatures/schemes.ts';
import { newStandardSecret } from '../signatures/signing-secret.ts';
import type { WebhookSecrets } from '../secrets/webhook-secrets.ts';
import type { OpenChannel } from './adapter.ts';
import { adapterOf, type ChannelAdapters } from './adapters.ts';
import { placeOf, type InboundChannel, type SealedChannel } from './channel.ts';

export interface ChannelGateOptions {
  find: (id: string) => Promise<InboundChannel | null>;
  adapters: ChannelAdapters;
  secrets: WebhookSecrets;
  refusals: Refusals;
  log: Logger;
}

/** The parts of a channel for the proof of a message's origin. */
type Provable = Pick<SealedChannel, 'id' | 'tenantId' | 'type' | 'config' | 'credentials'>;

/** Decides whether messages are from the provider of their channel. */
export class ChannelGate {
  readonly #options: ChannelGateOptions;
  /** Stands for a missing channel: its messages are as much work as those of others. */
  readonly #unknown: Provable;

  constructor(options: ChannelGateOptions) {
    this.#options = options;
    const place = { id: newId(), tenantId: newId() };
    const credentials = JSON.stringify({ secret: newStandardSecret() });
    this.#unknown = {
      ...place,
      type: 'generic',
      config: {},
      credentials: options.secrets.seal(placeOf(place), credentials),
    };
  }

  /** The channel with an id, if there is one. */
  find(id: string): Promise<InboundChannel | null> {
    return this.#options.find(id);
  }

  /**
   * The channel of a genuine message. Throws `signature_invalid`, for whatever reason, and `rate_limit_exceeded` for an
   * address with too many of these failures.
   */
  async check(
    request: VerifiableRequest,
    channel: InboundChannel | null,
    address: string | null,
  ): Promise<SealedChannel> {
    const isGenuine = channel !== null && this.#verify(request, channel);
    const previous = channel?.previousCredentials ?? null;
    const wasGenuine =
      channel !== null && previous !== null && this.#verify(request, { ...channel, credentials: previous });
    // As much work for every channel: two HMACs over the body.
    const hmacs = channel === null ? 0 : adapterOf(this.#options.adapters, channel.type).hmacs;
    for (let more = previous === null ? hmacs : 2 * hmacs; more < 2; more += 1)
      this.#verify(request, this.#unknown);
    if (channel?.enabled === true && (isGenuine || wasGenuine)) return channel;
    return this.#options.refusals.refuse(
      address,
      'The channel does not exist, or the message is not genuine.',
    );
  }

  #verify(request: VerifiableRequest, { id, tenantId, type, config, credentials }: Provable): boolean {
    const { secrets, adapters, log } = this.#options;
    let opened: string;
    try {
      opened = secrets.open(placeOf({ tenantId, id }), credentials);
    } catch (error) {
      log.error({ err: error, channel_id: id }, 'failed to decrypt the credentials of a channel');
      return false;
    }
    const channel = {
      id,
      config,
      credentials: JSON.parse(opened) as OpenChannel['credentials'],
      previousCredentials: null,
      accessToken: null,
    };
    return adapterOf(adapters, type).verify(request, channel, Date.now() / 1_000);
  }
}
