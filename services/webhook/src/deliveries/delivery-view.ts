import type { WebhookDelivery } from '@gatehouse/contract/webhook-calls';
import type { LoggedDelivery } from './delivery.ts';

/** A delivery as clients see it. */
export function showDelivery({
  id,
  url,
  status,
  dueAt,
  createdAt,
  attempts,
}: LoggedDelivery): WebhookDelivery {
  return {
    id,
    url,
    status,
    next_attempt_at: dueAt?.toISOString() ?? null,
    created_at: createdAt.toISOString(),
    attempts: attempts.map(({ at, ...attempt }) => ({ ...attempt, at: new Date(at).toISOString() })),
  };
}
