import type { CallTexts } from '../calls/call-texts.ts';
import type { SecretPlace, WebhookSecrets } from '../secrets/webhook-secrets.ts';
import type { CallStore } from '../calls/call-store.ts';
import type { DueDelivery } from './delivery-store.ts';
import { resultBody } from '../calls/result-body.ts';

/** The message of a delivery, the same at each attempt. */
export interface Message {
  /** The `webhook-id`. */
  id: string;
  body: string;
  /** Each signs it: the secret, and the one before it during an overlap. */
  secrets: string[];
  /** How often what it is about was sent on by then. */
  hops: number;
}

/** Makes the messages of deliveries. */
export class Messages {
  readonly #calls: Pick<CallStore, 'find'>;
  readonly #texts: CallTexts;
  readonly #secrets: WebhookSecrets;

  constructor(options: { calls: Pick<CallStore, 'find'>; texts: CallTexts; secrets: WebhookSecrets }) {
    this.#calls = options.calls;
    this.#texts = options.texts;
    this.#secrets = options.secrets;
  }

  /** Null if the call was deleted meanwhile. */
  async open({ tenantId, source, ...sealed }: DueDelivery): Promise<Message | null> {
    if (source.kind === 'event') {
      const { eventId: id, subscriptionId, body } = source;
      const place = { tenantId, table: 'subscriptions', column: 'secret', id: subscriptionId } as const;
      return { id, body, secrets: this.#openBoth(place, sealed), hops: 1 };
    }
    const { callId: id, endpointId } = source;
    const call = await this.#calls.find(tenantId, id);
    const body = call === null ? null : resultBody(call, this.#texts);
    if (call === null || body === null) return null;
    const place = { tenantId, table: 'endpoints', column: 'callback_secret', id: endpointId } as const;
    return { id, body, secrets: this.#openBoth(place, sealed), hops: call.hops + 1 };
  }

  #openBoth(
    place: SecretPlace,
    { secret, previousSecret }: Pick<DueDelivery, 'secret' | 'previousSecret'>,
  ): string[] {
    const previous = this.#secrets.openOld(place, previousSecret);
    return [this.#secrets.open(place, secret), ...(previous === null ? [] : [previous])];
  }
}
