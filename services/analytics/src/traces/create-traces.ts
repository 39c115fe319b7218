import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import { Partitions } from './partitions-job.ts';
import { traceHandlers } from './trace-handlers.ts';
import { TraceStore } from './trace-store.ts';

/** Traces as tenants read them, and the partitions they are stored in. */
export function createTraces({ log }: Shell, { app, system }: { app: Pool; system: Pool }) {
  return {
    handlers: traceHandlers(new TraceStore(app)),
    parts: [new Partitions(system, log)],
  };
}
