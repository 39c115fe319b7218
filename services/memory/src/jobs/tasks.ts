import type { Jobs } from '@gatehouse/jobs/jobs';
import { defineTask } from '@gatehouse/jobs/task';
import type { RequestJob } from '../store/scopes/job-request.ts';

const minute = 60;

/** Soon at first, then every five minutes for a day. */
const retryAfterS = [10, minute, ...Array.from({ length: 288 }, () => 5 * minute)];

/** Background tasks of memory. */
export const tasks = {
  /** Embeds all waiting passages of an agent. */
  embed: defineTask<{ agentId: string }>({
    retryAfterS,
    deadlineMs: 10 * 60_000,
    concurrency: 4,
    perTenant: 2,
  }),
  /** Rebuilds the index of an agent with another analyser. */
  reindex: defineTask<{ agentId: string }>({
    retryAfterS,
    deadlineMs: 10 * 60_000,
    concurrency: 2,
    perTenant: 1,
  }),
  /** Removes the memory of an agent no longer in the tenant. */
  remove: defineTask<{ agentId: string }>({
    retryAfterS,
    deadlineMs: 30 * minute * 1_000,
    concurrency: 2,
    perTenant: 1,
  }),
  /** Copies an agent's vectors from before the database had pgvector. */
  copy_half_vectors: defineTask<{ agentId: string }>({
    retryAfterS,
    deadlineMs: 30 * minute * 1_000,
    concurrency: 2,
    perTenant: 1,
  }),
};

/** How stores request a background job. */
export type RequestJobs = (task: keyof typeof tasks) => RequestJob;

export function requestJobs(jobs: Jobs<typeof tasks>): RequestJobs {
  return (task) =>
    async (db, { tenantId, agentId }, runAt) => {
      await jobs.add(db, { task, tenantId, ids: { agentId }, key: agentId, ...(runAt && { runAt }) });
    };
}
