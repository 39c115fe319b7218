import { JobWorker, type JobWorkerOptions } from '@gatehouse/jobs/job-worker';
import { Jobs } from '@gatehouse/jobs/jobs';
import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import { callTasks } from './calls/call-tasks.ts';
import { channelTasks } from './channels/channel-tasks.ts';
import type { WebhookConfig } from './config.ts';
import { conversationTasks } from './conversations/conversation-tasks.ts';
import { deliveryTasks } from './deliveries/delivery-tasks.ts';

/** The background work of webhook. */
const tasks = { ...callTasks, ...conversationTasks, ...channelTasks, ...deliveryTasks };
type Tasks = typeof tasks;

export function createJobs({ log }: Shell, system: Pool): Jobs<Tasks> {
  return new Jobs({ service: 'webhook', tasks, system, log });
}

/** A part that runs them. */
export function createJobWorker(
  { log, registry }: Shell,
  { DRAIN_TIMEOUT_MS: drainTimeoutMs }: WebhookConfig,
  options: Pick<JobWorkerOptions<Tasks>, 'jobs' | 'handlers' | 'timing'>,
): JobWorker<Tasks> {
  return new JobWorker({ ...options, log, registry, drainTimeoutMs });
}
