import { JobWorker } from '@gatehouse/jobs/job-worker';
import { Jobs } from '@gatehouse/jobs/jobs';
import type { JobHandlers } from '@gatehouse/jobs/task';
import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { RequestJob } from '../store/scopes/job-request.ts';
import { tasks } from './tasks.ts';

/** How stores request a background job. */
export type RequestJobs = (task: keyof typeof tasks) => RequestJob;

/** Background jobs: how they are requested, and what runs them. `system` acts as `memory_system`. */
export function createJobs({ log, registry, config }: Shell, system: Pool) {
  const jobs = new Jobs({ service: 'memory', tasks, system, log });
  const requestJob: RequestJobs =
    (task) =>
    async (db, { tenantId, agentId }, runAt) => {
      await jobs.add(db, { task, tenantId, ids: { agentId }, key: agentId, ...(runAt && { runAt }) });
    };
  const drainTimeoutMs = config.DRAIN_TIMEOUT_MS;
  return {
    requestJob,
    workerFor: (handlers: JobHandlers<typeof tasks>) =>
      new JobWorker({ jobs, handlers, log, registry, drainTimeoutMs }),
  };
}
