import type { JobTiming } from '../src/job-worker.ts';
import { defineTask } from '../src/task.ts';

/** A task with safe options, of which a test states what matters to it. */
export const someTask = { retryAfterS: [0], deadlineMs: 5_000, concurrency: 4, perTenant: 3 };
export const tasks = {
  embed: defineTask<{ documentId: string }>(someTask),
  reply: defineTask<{ messageId: string }>({ ...someTask, inOrder: true }),
};
export type TestTasks = typeof tasks;

/** Short, so that tests need not wait. */
export const timing: JobTiming = { pollMs: 100, heartbeatMs: 200, lostAfterMs: 1_000, countMs: 100 };
