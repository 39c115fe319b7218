import { defineTask } from '@gatehouse/jobs/task';

const minute = 60;

export const channelTasks = {
  /** Asks the provider of a channel whether its credentials are valid. */
  check_channel: defineTask<{ channelId: string }>({
    retryAfterS: [2, 10, 30, minute, ...Array.from({ length: 12 }, () => 10 * minute)],
    deadlineMs: 30_000,
    concurrency: 16,
    perTenant: 4,
  }),
  /** Refreshes the tokens of a channel. Upkeep adds another job while that is due. */
  refresh_tokens: defineTask<{ channelId: string }>({
    retryAfterS: [31, minute, minute],
    deadlineMs: 45_000,
    concurrency: 16,
    perTenant: 4,
  }),
};
