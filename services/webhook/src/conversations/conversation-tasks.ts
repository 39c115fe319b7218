import { defineTask } from '@gatehouse/jobs/task';

const minute = 60;

export const conversationTasks = {
  /** Answers the messages of a conversation. Retries last for half an hour; then a sentence says that it failed. */
  converse: defineTask<{ conversationId: string }>({
    retryAfterS: [1, 2, 5, 10, 30, ...Array.from({ length: 29 }, () => minute)],
    deadlineMs: 12 * minute * 1_000,
    // A slot is held as long as the agent takes, and costs little.
    concurrency: 1_024,
    perTenant: 32,
    inOrder: true,
  }),
  /** Sends the replies of a conversation. Failed attempts are repeated by a schedule of their own. */
  send_replies: defineTask<{ conversationId: string }>({
    retryAfterS: [1, 5, 30, ...Array.from({ length: 60 }, () => minute)],
    deadlineMs: 3 * minute * 1_000,
    concurrency: 512,
    perTenant: 32,
    inOrder: true,
  }),
};
