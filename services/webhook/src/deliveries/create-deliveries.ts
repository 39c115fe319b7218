import type { Jobs } from '@gatehouse/jobs/jobs';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { Shell } from '@gatehouse/shell/shell';
import type { TenantClient } from '../clients/tenant-client.ts';
import type { WebhookSecrets } from '../secrets/webhook-secrets.ts';
import type { Guards } from '../shared/guards.ts';
import type { RaiseEvent } from '../shared/raise-event.ts';
import { overdueMs, upkeepBatch } from '../shared/upkeep.ts';
import { deliver } from './deliver-job.ts';
import { deliveryMetrics } from './delivery-metrics.ts';
import { DeliveryQueue } from './delivery-queue-store.ts';
import { DeliveryStore } from './delivery-store.ts';
import { findOverdueTargets } from './delivery-system-store.ts';
import type { deliveryTasks } from './delivery-tasks.ts';
import { Hops } from './hops.ts';
import { Messages, type ResultOf } from './messages.ts';

export interface DeliveriesOptions {
  app: Pool;
  system: Pool;
  jobs: Jobs<typeof deliveryTasks>;
  keyRing: KeyRing;
  secrets: WebhookSecrets;
  guards: Guards;
  tenants: TenantClient;
  resultOf: ResultOf;
  raise: RaiseEvent;
}

/** Results and events that are sent to URLs of tenants. */
export function createDeliveries({ log, registry }: Shell, options: DeliveriesOptions) {
  const { app, system, jobs, keyRing, secrets, guards, tenants, resultOf, raise } = options;
  const queue = new DeliveryQueue(jobs);
  const hops = new Hops(keyRing);
  return {
    jobs: {
      deliver: deliver({
        deliveries: new DeliveryStore(app),
        messages: new Messages({ resultOf, secrets }),
        metrics: deliveryMetrics(registry),
        within: (tenantId, work) => withTenant(app, tenantId, work),
        isActive: (tenantId) => tenants.isActive(tenantId),
        egress: guards.egress,
        ...{ hops, queue, raise },
      }),
    },
    parts: [
      new PeriodicWork({
        task: 'queue overdue deliveries',
        log,
        everyMs: overdueMs,
        // Their job was lost, or was not added because one with its key was just ending.
        round: async () => {
          for (const target of await findOverdueTargets(system, upkeepBatch))
            await withTenant(app, target.tenantId, (db) => queue.wakeLost(db, target));
          return false;
        },
      }),
    ],
    ...{ deliveryQueue: queue, hops },
  };
}
