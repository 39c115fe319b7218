import type {
  PatchWebhookSubscription,
  WebhookSubscription,
} from '@gatehouse/contract/webhook-subscriptions';

type EventType = WebhookSubscription['event_types'][number];

/** The fields set by a client. */
export interface SubscriptionSettings {
  url: string;
  event_types: readonly EventType[];
  enabled: boolean;
}

/** A subscription without its secret. */
export interface Subscription extends SubscriptionSettings {
  id: string;
  lastDelivery: { at: string; status: 'pending' | 'delivered' | 'failed' } | null;
  /** Until then events are signed by the secret before the last change too. */
  previousSecretExpiresAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

/** The settings after a patch: omitted fields are kept, and types count once. */
export function patched(before: SubscriptionSettings, patch: PatchWebhookSubscription): SubscriptionSettings {
  const { url = before.url, event_types: types = before.event_types, enabled = before.enabled } = patch;
  return { url, event_types: [...new Set<EventType>(types)], enabled };
}

/** As clients see it. */
export function showSubscription(subscription: Subscription): WebhookSubscription {
  const {
    id,
    url,
    event_types: types,
    enabled,
    lastDelivery,
    previousSecretExpiresAt,
    createdAt,
    updatedAt,
  } = subscription;
  return {
    id,
    url,
    // A tenant's rows have its types, and the owner's the owner's.
    event_types: types as WebhookSubscription['event_types'] & [],
    enabled,
    last_delivery:
      lastDelivery === null
        ? null
        : { at: new Date(lastDelivery.at).toISOString(), status: lastDelivery.status },
    previous_secret_expires_at: previousSecretExpiresAt?.toISOString() ?? null,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}
