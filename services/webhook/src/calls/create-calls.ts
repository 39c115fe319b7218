import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { MinuteCounts } from '@gatehouse/pg/minute-counts';
import type { Shell } from '@gatehouse/shell/shell';
import type { DeliveryQueue } from '../deliveries/delivery-queue-store.ts';
import { DeliveryStore } from '../deliveries/delivery-store.ts';
import type { Hops } from '../deliveries/hops.ts';
import type { EndpointGate } from '../endpoints/endpoint-gate.ts';
import { EndpointStore } from '../endpoints/endpoint-store.ts';
import type { Ground } from '../ground.ts';
import type { QueueAnswer } from '../shared/queue-answer.ts';
import { QueueRoom } from '../shared/queue-room.ts';
import type { Templates } from '../templates/templates.ts';
import { callHandlers } from './call-handlers.ts';
import { CallStore } from './call-store.ts';
import { expiredCalls, prolongClaims } from './call-system-store.ts';
import { callTexts, resultReader } from './call-texts.ts';
import { Claims } from './claims.ts';
import { llmHandlers } from './llm-handlers.ts';
import { EndpointWait } from './patience.ts';
import { failLost, runCall } from './run-call-job.ts';
import { SyncCalls } from './sync-calls-handlers.ts';
import { cleanUpMs } from '@gatehouse/kit/bounds';

export interface CallsOptions extends Ground {
  deliveryQueue: DeliveryQueue;
  hops: Hops;
  endpointGate: EndpointGate;
  templates: Templates;
}

/** Calls: genuine requests to endpoints, and what became of them. */
export function createCalls({ log }: Shell, options: CallsOptions) {
  const { app, system, jobs, completions, deliveryQueue: queue, endpointGate: gate } = options;
  const calls = new CallStore(app);
  const texts = callTexts(options.keyRing);
  const claims = new Claims({ prolong: (ids, seconds) => prolongClaims(system, ids, seconds), log });
  const queueAnswer: QueueAnswer = async (db, { id, tenantId, deliverTo }) => {
    if (deliverTo !== null)
      await jobs.add(db, { task: 'deliver_answer', tenantId, ids: { callId: id }, key: id });
  };
  return {
    handlers: callHandlers({
      ...options,
      ...{ calls, texts, queue },
      endpoints: new EndpointStore(app),
      deliveries: new DeliveryStore(app),
      counts: new MinuteCounts(app, 'webhook'),
    }),
    rawHandlers: llmHandlers({
      ...options,
      ...{ gate, calls, claims, texts },
      sync: new SyncCalls({ calls, claims, texts, completions, queueAnswer }),
      queue: async (db, { tenantId, id }) => {
        await jobs.add(db, { task: 'run_call', tenantId, ids: { callId: id }, key: id });
      },
      patience: new EndpointWait(),
      room: new QueueRoom('deliveries', (tenantId, count) => calls.hasQueued(tenantId, count)),
    }),
    jobs: { run_call: runCall({ calls, texts, completions, queue, queueAnswer }) },
    parts: [
      claims,
      new PeriodicWork({
        task: 'end lost calls',
        log,
        everyMs: cleanUpMs,
        round: () => failLost({ system, calls, queue }),
      }),
      ...cleanUp(log, system, [expiredCalls]),
    ],
    texts,
    resultOf: resultReader((tenantId, id) => calls.find(tenantId, id), texts),
  };
}
