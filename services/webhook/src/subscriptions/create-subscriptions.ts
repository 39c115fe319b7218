import { topics } from '@gatehouse/contract/services';
import { EventIntake } from '@gatehouse/events/intake';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { MinuteCounts } from '@gatehouse/pg/minute-counts';
import { consumeTopic } from '@gatehouse/shell/topic-consumer';
import type { Shell } from '@gatehouse/shell/shell';
import type { DeliveryQueue } from '../deliveries/delivery-queue-store.ts';
import type { Ground } from '../ground.ts';
import type { RaiseEvent } from '../shared/raise-event.ts';
import { EventQueue, readEvent } from './event-queue-store.ts';
import { insertDeadLetter, oldEvents } from './event-system-store.ts';
import { subscriptionHandlers } from './subscription-handlers.ts';
import { SubscriptionStore } from './subscription-store.ts';

/** Subscriptions of tenants and of the owner, and their events. */
export function createSubscriptions(shell: Shell, options: Ground & { deliveryQueue: DeliveryQueue }) {
  const { config, app, system, deliveryQueue: deliveries } = options;
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
      ...options,
      ...{ events, deliveries },
      subscriptions: new SubscriptionStore(app),
      counts: new MinuteCounts(app, 'webhook'),
    }),
    parts: cleanUp(log, system, oldEvents),
    raise,
  };
}
