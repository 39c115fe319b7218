import type { SecretPlace, WebhookSecrets } from '../secrets/webhook-secrets.ts';
import type { DueDelivery } from './delivery.ts';

/** The message of a delivery, the same at each attempt. */
export interface DeliveryMessage {
  /** The `webhook-id`. */
  id: string;
  body: string;
  /** Each signs it: the secret, and the one before it during an overlap. */
  secrets: string[];
  /** How often what it is about was sent on by then. */
  hops: number;
}

/**
 * The body of a call's result, and how often its content was sent on by then; null if the call was deleted meanwhile.
 */
export type ResultOf = (tenantId: string, callId: string) => Promise<{ body: string; hops: number } | null>;

/** Makes the messages of deliveries. */
export class Messages {
  readonly #resultOf: ResultOf;
  readonly #secrets: WebhookSecrets;

  constructor(options: { resultOf: ResultOf; secrets: WebhookSecrets }) {
    this.#resultOf = options.resultOf;
    this.#secrets = options.secrets;
  }

  /** Null if the call was deleted meanwhile. */
  async open({ tenantId, source, ...sealed }: DueDelivery): Promise<DeliveryMessage | null> {
    if (source.kind === 'event') {
      const { eventId: id, subscriptionId, body } = source;
      const place = { tenantId, table: 'subscriptions', column: 'secret', id: subscriptionId } as const;
      return { id, body, secrets: this.#openBoth(place, sealed), hops: 1 };
    }
    const { callId: id, endpointId } = source;
    const result = await this.#resultOf(tenantId, id);
    if (result === null) return null;
    const place = { tenantId, table: 'endpoints', column: 'callback_secret', id: endpointId } as const;
    return { id, body: result.body, secrets: this.#openBoth(place, sealed), hops: result.hops + 1 };
  }

  #openBoth(
    place: SecretPlace,
    { secret, previousSecret }: Pick<DueDelivery, 'secret' | 'previousSecret'>,
  ): string[] {
    const previous = this.#secrets.openOld(place, previousSecret);
    return [this.#secrets.open(place, secret), ...(previous === null ? [] : [previous])];
  }
}
