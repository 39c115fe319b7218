import { JobWorker } from '@gatehouse/jobs/job-worker';
import { Jobs } from '@gatehouse/jobs/jobs';
import type { JobHandlers } from '@gatehouse/jobs/task';
import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { TenantConfig } from './config.ts';
import { tasks } from './tasks.ts';

type Tasks = typeof tasks;

export function createJobs({ log }: Shell, system: Pool): Jobs<Tasks> {
  return new Jobs({ service: 'tenant', tasks, system, log });
}

/** A part that runs them. */
export function createJobWorker(
  { log, registry }: Shell,
  { DRAIN_TIMEOUT_MS: drainTimeoutMs }: TenantConfig,
  { jobs, handlers }: { jobs: Jobs<Tasks>; handlers: JobHandlers<Tasks> },
): JobWorker<Tasks> {
  return new JobWorker({ jobs, handlers, log, registry, drainTimeoutMs });
}
