import { counter, type Registry } from '@gatehouse/kit/metrics';

/** The outcome of an attempt; `postponed` ones were not made, because too many requests are under way. */
const outcomes = ['delivered', 'retry', 'failed', 'postponed'] as const;

export type DeliveryMetrics = ReturnType<typeof deliveryMetrics>;

export function deliveryMetrics(registry: Registry) {
  const attempts = counter(
    registry,
    'gatehouse_webhook_attempts_total',
    'Attempts to send results and events by outcome',
    ['outcome'],
  );
  // An alert compares outcomes, so each must have a series before it happens.
  for (const outcome of outcomes) attempts.inc({ outcome }, 0);
  const disabled = counter(
    registry,
    'gatehouse_webhooks_disabled_total',
    'Endpoints and subscriptions that were disabled because their receiver is gone or fails',
  );
  return {
    attempted: (outcome: (typeof outcomes)[number]) => attempts.inc({ outcome }),
    disabled: () => disabled.inc(),
  };
}
