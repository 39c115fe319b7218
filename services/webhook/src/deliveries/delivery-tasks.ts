import { defineTask } from '@gatehouse/jobs/task';

const minute = 60;

export const deliveryTasks = {
  /** Sends what is due to one target of a tenant. Failed attempts are repeated by a schedule of their own. */
  deliver: defineTask<{ target: string }>({
    retryAfterS: [5, 30, minute, ...Array.from({ length: 288 }, () => 5 * minute)],
    deadlineMs: 3 * minute * 1_000,
    concurrency: 256,
    perTenant: 16,
  }),
};
