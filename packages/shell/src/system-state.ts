import { services, type ServiceName } from '@gatehouse/contract/services';
import { hasOutbox, readOutboxState } from '@gatehouse/events/store/outbox-state-store';
import { rpcService, type RpcService } from '@gatehouse/grpc/rpc';
import { deadQueue } from '@gatehouse/jobs/task';
import { countWaiting } from '@gatehouse/jobs/store/job-system-store';
import { jobsSchema } from '@gatehouse/jobs/store/schema-store';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import { checkName } from '@gatehouse/pg/database-check';
import type { Pool } from '@gatehouse/pg/pool';
import { SystemServiceService, type GetSystemStateResponse } from '@gatehouse/proto/system/v1/system';
import { countDeadLetters, countSessions, mostCounted } from './system-state-store.ts';

export interface SystemStateOptions {
  /** Acts as `<service>_system`. */
  pool: Pool;
  /** How late the service counts runs, if it does; null until it is known. */
  usageLagSeconds?: ((pool: Pool) => Promise<number | null>) | undefined;
}

/** The state of a service for operators: from its database, one statement at a time. */
export async function readSystemState(
  service: ServiceName,
  { pool, usageLagSeconds }: SystemStateOptions,
): Promise<GetSystemStateResponse> {
  const entry = services.find(({ name }) => name === service);
  const replicas = await countSessions(pool, checkName(service));
  const outboxes: GetSystemStateResponse['outboxes'] = [];
  for (const topic of entry?.publishes ?? []) {
    const outbox = await readOutboxState(pool, service, topic);
    if (outbox !== null) outboxes.push(outbox);
  }
  const hasDeadLetters = entry?.consumes?.some(hasOutbox) === true;
  const jobs = entry?.jobs === true ? await countWaiting(pool, jobsSchema(service), mostCounted) : [];
  const queues = jobs.map(({ task: name, waiting, oldestSeconds }) => ({
    ...{ name, waiting, oldestAgeSeconds: oldestSeconds },
  }));
  return {
    ...{ replicas, outboxes },
    queues: queues.filter(({ name }) => name !== deadQueue),
    deadJobs: queues.find(({ name }) => name === deadQueue)?.waiting ?? 0,
    deadLetters: hasDeadLetters ? await countDeadLetters(pool, service) : undefined,
    usageLagSeconds: (await usageLagSeconds?.(pool)) ?? undefined,
  };
}

/** The RPC by which tenant reads it. Concurrent calls share one reading. */
export function systemState(service: ServiceName, options: SystemStateOptions): RpcService {
  const readings = new SharedCalls<GetSystemStateResponse>();
  return rpcService(SystemServiceService, {
    getSystemState: {
      callers: ['tenant'],
      handle: () => readings.get('', () => readSystemState(service, options)),
    },
  });
}
