import type { Jobs } from '@gatehouse/jobs/jobs';
import { defineTask } from '@gatehouse/jobs/task';

const minute = 60;
const times = (count: number, seconds: number): number[] => Array.from({ length: count }, () => seconds);

/** The background work of webhook. */
export const tasks = {
  /** Asks the agent for an `async` call. Retries last for about a day. */
  run_call: defineTask<{ callId: string }>({
    retryAfterS: [5, 30, 2 * minute, 10 * minute, 30 * minute, ...times(12, 120 * minute)],
    // Chat gives up after ten minutes.
    deadlineMs: 12 * minute * 1_000,
    concurrency: 128,
    perTenant: 8,
  }),
  /** Stores the answer of a call as messages of a conversation. Retries last for an hour. Upkeep adds lost jobs again. */
  deliver_answer: defineTask<{ callId: string }>({
    retryAfterS: [1, 5, 30, ...times(60, minute)],
    deadlineMs: minute * 1_000,
    concurrency: 64,
    perTenant: 8,
  }),
  /** Answers the messages of a conversation. Retries last for half an hour; then a sentence reports the failure. */
  converse: defineTask<{ conversationId: string }>({
    retryAfterS: [1, 2, 5, 10, 30, ...times(29, minute)],
    deadlineMs: 12 * minute * 1_000,
    // A slot is held as long as the agent takes, and costs little.
    concurrency: 1_024,
    perTenant: 32,
    inOrder: true,
  }),
  /** Sends the replies of a conversation. Failed attempts are repeated by a schedule of their own. */
  send_replies: defineTask<{ conversationId: string }>({
    retryAfterS: [1, 5, 30, ...times(60, minute)],
    deadlineMs: 3 * minute * 1_000,
    concurrency: 512,
    perTenant: 32,
    inOrder: true,
  }),
  /** Asks the provider of a channel whether its credentials are valid. */
  check_channel: defineTask<{ channelId: string }>({
    retryAfterS: [2, 10, 30, minute, ...times(12, 10 * minute)],
    deadlineMs: 30_000,
    concurrency: 16,
    perTenant: 4,
  }),
  /** Refreshes the tokens of a channel. Upkeep adds another job while they are due. */
  refresh_tokens: defineTask<{ channelId: string }>({
    retryAfterS: [31, minute, minute],
    deadlineMs: 45_000,
    concurrency: 16,
    perTenant: 4,
  }),
  /** Sends what is due to one target of a tenant. Failed attempts are repeated by a schedule of their own. */
  deliver: defineTask<{ target: string }>({
    retryAfterS: [5, 30, minute, ...times(288, 5 * minute)],
    deadlineMs: 3 * minute * 1_000,
    concurrency: 256,
    perTenant: 16,
  }),
};

export type WebhookTasks = typeof tasks;
export type WebhookJobs = Jobs<WebhookTasks>;
