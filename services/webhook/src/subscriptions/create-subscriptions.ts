import type { Changes } from '@gatehouse/audited-changes/changes';
import { topics } from '@gatehouse/contract/services';
import { EventIntake } from '@gatehouse/events/intake';
import { MinuteCounts } from '@gatehouse/pg/minute-counts';
import type { Pool } from '@gatehouse/pg/pool';
import { consumeTopic } from '@gatehouse/shell/topic-consumer';
import type { Shell } from '@gatehouse/shell/shell';
import type { WebhookConfig } from '../config.ts';
import type { DeliveryQueue } from '../deliveries/delivery-queue-store.ts';
import type { WebhookSecrets } from '../secrets/webhook-secrets.ts';
import type { Guards } from '../shared/guards.ts';
import type { RaiseEvent } from '../shared/raise-event.ts';
import { cleaning } from '../shared/upkeep.ts';
import { EventQueue, readEvent } from './event-queue-store.ts';
import {
  deleteOldDeadLetters,
  deleteOldEvents,
  deleteOldMarks,
  insertDeadLetter,
} from './event-system-store.ts';
import { subscriptionHandlers } from './subscription-handlers.ts';
import { SubscriptionStore } from './subscription-store.ts';

export interface SubscriptionsOptions {
  config: WebhookConfig;
  app: Pool;
  system: Pool;
  secrets: WebhookSecrets;
  guards: Guards;
  changes: Changes;
  deliveryQueue: DeliveryQueue;
}

/** Subscriptions of tenants and of the owner, and the events that they receive. */
export function createSubscriptions(shell: Shell, options: SubscriptionsOptions) {
  const { config, app, system, secrets, guards, changes, deliveryQueue: deliveries } = options;
  const { log, registry } = shell;
  const events = new EventQueue({ pool: app, deliveries, log });
  const intake = new EventIntake({
    read: readEvent,
    store: (some) => events.take(some),
    keep: (letter) => insertDeadLetter(system, letter),
    log,
    registry,
  });
  consumeTopic(shell, { topic: topics.alerts, config, take: (taken) => intake.take(taken) });
  const raise: RaiseEvent = (db, tenantId, event) => events.raise(db, tenantId, event);
  return {
    handlers: subscriptionHandlers({
      subscriptions: new SubscriptionStore(app),
      guard: guards.guard,
      counts: new MinuteCounts(app, 'webhook'),
      ...{ events, deliveries, secrets, changes },
    }),
    parts: [
      cleaning(log, 'delete old events', (limit) => deleteOldEvents(system, limit)),
      cleaning(log, 'delete old marks of events', (limit) => deleteOldMarks(system, limit)),
      cleaning(log, 'delete old dead letters', (limit) => deleteOldDeadLetters(system, limit)),
    ],
    raise,
  };
}
