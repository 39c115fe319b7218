import { withTenant } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { Ground } from '../ground.ts';
import type { RaiseEvent } from '../shared/raise-event.ts';
import { queueOverdue } from '../shared/upkeep.ts';
import { deliver } from './deliver-job.ts';
import { deliveryMetrics } from './delivery-metrics.ts';
import { DeliveryQueue } from './delivery-queue-store.ts';
import { DeliveryStore } from './delivery-store.ts';
import { findOverdueTargets } from './delivery-system-store.ts';
import { Hops } from './hops.ts';
import { Messages, type ResultOf } from './messages.ts';

export interface DeliveriesOptions extends Ground {
  resultOf: ResultOf;
  raise: RaiseEvent;
}

/** Results and events for URLs of tenants. */
export function createDeliveries({ log, registry }: Shell, options: DeliveriesOptions) {
  const { app, system, jobs, keyRing, tenants } = options;
  const queue = new DeliveryQueue(jobs);
  const hops = new Hops(keyRing);
  return {
    jobs: {
      deliver: deliver({
        ...options,
        ...{ hops, queue },
        deliveries: new DeliveryStore(app),
        messages: new Messages(options),
        metrics: deliveryMetrics(registry),
        within: (tenantId, work) => withTenant(app, tenantId, work),
        isActive: (tenantId) => tenants.isActive(tenantId),
      }),
    },
    parts: [
      queueOverdue({
        ...{ what: 'overdue deliveries', app, log },
        find: (limit) => findOverdueTargets(system, limit),
        add: (db, target) => queue.wakeLost(db, target),
      }),
    ],
    ...{ deliveryQueue: queue, hops },
  };
}
