import { defineTask } from '@gatehouse/jobs/task';

const minute = 60;

export const callTasks = {
  /** Asks the agent for an `async` call. Retries last for about a day. */
  run_call: defineTask<{ callId: string }>({
    retryAfterS: [
      5,
      30,
      2 * minute,
      10 * minute,
      30 * minute,
      ...Array.from({ length: 12 }, () => 120 * minute),
    ],
    // Chat gives up after ten minutes.
    deadlineMs: 12 * minute * 1_000,
    concurrency: 128,
    perTenant: 8,
  }),
};
