import { defineTask } from '@gatehouse/jobs/task';

const minute = 60;
const hour = 60 * minute;

/** What memory does in the background. */
export const tasks = {
  /** Embeds all passages of an agent that wait for it. */
  embed: defineTask<{ agentId: string }>({
    retryAfterS: [10, minute, 5 * minute, 30 * minute, 2 * hour, 6 * hour, 12 * hour, 24 * hour],
    deadlineMs: 10 * 60_000,
    concurrency: 4,
    perTenant: 2,
  }),
  /** Copies the vectors of an agent that were stored before the database had pgvector. */
  copy_half_vectors: defineTask<{ agentId: string }>({
    retryAfterS: [10, minute, 5 * minute, 30 * minute],
    deadlineMs: 30 * minute * 1_000,
    concurrency: 2,
    perTenant: 1,
  }),
};
