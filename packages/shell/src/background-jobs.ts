import { JobWorker, type JobTiming } from '@gatehouse/jobs/job-worker';
import { Jobs } from '@gatehouse/jobs/jobs';
import type { JobHandlers, Tasks } from '@gatehouse/jobs/task';
import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from './shell.ts';

/**
 * The background jobs of a service: `jobs` adds them, and the part made by `worker` runs them. `system` acts as
 * `<service>_system`.
 */
export function createJobs<Known extends Tasks>(
  { name, log, registry, config }: Shell,
  tasks: Known,
  system: Pool,
) {
  const jobs = new Jobs({ service: name, tasks, system, log });
  const drainTimeoutMs = config.DRAIN_TIMEOUT_MS;
  return {
    jobs,
    worker: (handlers: JobHandlers<Known>, timing: Partial<JobTiming> = {}) =>
      new JobWorker({ jobs, handlers, log, registry, drainTimeoutMs, timing }),
  };
}
