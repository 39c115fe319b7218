import type { Changes } from '@gatehouse/audited-changes/changes';
import type { Jobs } from '@gatehouse/jobs/jobs';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { MinuteCounts } from '@gatehouse/pg/minute-counts';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { Shell } from '@gatehouse/shell/shell';
import type { DeliveryQueue } from '../deliveries/delivery-queue-store.ts';
import { DeliveryStore } from '../deliveries/delivery-store.ts';
import type { Hops } from '../deliveries/hops.ts';
import type { EndpointGate } from '../endpoints/endpoint-gate.ts';
import { EndpointStore } from '../endpoints/endpoint-store.ts';
import type { CompletionClient } from '../clients/completion-client.ts';
import type { TenantClient } from '../clients/tenant-client.ts';
import type { Guards } from '../shared/guards.ts';
import { QueueRoom } from '../shared/queue-room.ts';
import { cleaning } from '../shared/upkeep.ts';
import type { Templates } from '../templates/templates.ts';
import { callHandlers } from './call-handlers.ts';
import { CallStore } from './call-store.ts';
import { deleteExpiredCalls, prolongClaims } from './call-system-store.ts';
import type { callTasks } from './call-tasks.ts';
import { CallTexts } from './call-texts.ts';
import { Claims } from './claims.ts';
import { llmHandlers } from './llm-handlers.ts';
import { EndpointWait } from './patience.ts';
import { resultReader } from './result-body.ts';
import { failLost, runCall } from './run-call-job.ts';
import { SyncCalls } from './sync-calls-handlers.ts';

export interface CallsOptions {
  app: Pool;
  system: Pool;
  jobs: Jobs<typeof callTasks>;
  keyRing: KeyRing;
  completions: CompletionClient;
  tenants: TenantClient;
  changes: Changes;
  guards: Guards;
  deliveryQueue: DeliveryQueue;
  hops: Hops;
  endpointGate: EndpointGate;
  templates: Templates;
}

const lostEveryMs = 600_000;

/** Calls: genuine requests to endpoints, and what became of them. */
export function createCalls({ log }: Shell, options: CallsOptions) {
  const { app, system, jobs, completions, tenants, changes, guards, hops, templates } = options;
  const { deliveryQueue: queue, endpointGate: gate } = options;
  const calls = new CallStore(app);
  const texts = new CallTexts(options.keyRing);
  const claims = new Claims({ prolong: (ids, seconds) => prolongClaims(system, ids, seconds), log });
  return {
    handlers: callHandlers({
      endpoints: new EndpointStore(app),
      deliveries: new DeliveryStore(app),
      counts: new MinuteCounts(app, 'webhook'),
      ...{ calls, texts, queue, changes },
    }),
    rawHandlers: llmHandlers({
      sync: new SyncCalls({ calls, claims, texts, completions }),
      queue: async (db, { tenantId, id }) => {
        await jobs.add(db, { task: 'run_call', tenantId, ids: { callId: id }, key: id });
      },
      patience: new EndpointWait(),
      room: new QueueRoom('deliveries', (tenantId, count) => calls.hasQueued(tenantId, count)),
      ...{ gate, guards, tenants, calls, claims, texts, hops, templates },
    }),
    jobs: { run_call: runCall({ calls, texts, completions, queue }) },
    parts: [
      claims,
      new PeriodicWork({
        task: 'end lost calls',
        log,
        everyMs: lostEveryMs,
        round: () => failLost({ system, calls, queue }),
      }),
      cleaning(log, 'delete expired calls', (limit) => deleteExpiredCalls(system, limit)),
    ],
    resultOf: resultReader((tenantId, id) => calls.find(tenantId, id), texts),
  };
}
