import { defineTask } from '@gatehouse/jobs/task';

const minute = 60;

/** What webhook does in the background. */
export const tasks = {
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
  /** Sends what is due to one target of a tenant. Failed attempts are repeated by a schedule of their own. */
  deliver: defineTask<{ target: string }>({
    retryAfterS: [5, 30, minute, ...Array.from({ length: 288 }, () => 5 * minute)],
    deadlineMs: 3 * minute * 1_000,
    concurrency: 256,
    perTenant: 16,
  }),
};
