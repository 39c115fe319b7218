import type { UserDeletionEvent } from '@gatehouse/events/deletion-event';
import { defineTask, type JobHandler, type Task } from '@gatehouse/jobs/task';
import { whileOthersAreDown } from '@gatehouse/jobs/retry-delays';

/**
 * Services with data of users, which take deletions of them, in the order of the API's answers. To add one, add it here
 * and its address in `deletion-events.ts`.
 */
export const participants = ['memory', 'analytics', 'chat', 'webhook', 'agent'] as const;
export type Participant = (typeof participants)[number];

/** Publishes a deletion to one service. Throws during an outage. */
export type SendDeletion = (deletion: UserDeletionEvent & { service: Participant }) => Promise<void>;

/** A deletion, as a job publishes it to one service. */
export interface OpenPart {
  userId: string;
  requestedAtMs: number;
  /** Numbers of rows removed by the service before. */
  counts: Record<string, number>;
}

export interface PartKey {
  tenantId: string;
  deletionId: string;
  service: Participant;
}

/** A task for each service: a slow one, or one that is down, delays no other. */
export type TaskName = `forget_user_in_${Participant}`;
type DeletionTask = Task<{ deletionId: string }>;

const task = { retryAfterS: whileOthersAreDown, deadlineMs: 15_000, concurrency: 4, perTenant: 2 };

export function taskFor(service: Participant): TaskName {
  return `forget_user_in_${service}`;
}

export const deletionTasks = forEach<DeletionTask>(() => defineTask<{ deletionId: string }>(task));

/** Publishes the deletion to each service for which it is `open`. A failed publication is a failed attempt. */
export function deletionHandlers(
  open: (key: PartKey) => Promise<OpenPart | null>,
  send: SendDeletion,
): Record<TaskName, JobHandler<{ deletionId: string }>> {
  return forEach<JobHandler<{ deletionId: string }>>((service) => async ({ deletionId }, { tenantId }) => {
    const key = { tenantId, deletionId, service };
    const part = await open(key);
    if (part === null) return;
    const { userId, requestedAtMs, counts } = part;
    const of = { deletion_id: deletionId, tenant_id: tenantId, service };
    await send({ ...of, user_id: userId, requested_at_ms: requestedAtMs, counts });
  });
}

function forEach<Value>(make: (service: Participant) => Value): Record<TaskName, Value> {
  // The names of all participants are keys.
  return Object.fromEntries(participants.map((service) => [taskFor(service), make(service)])) as Record<
    TaskName,
    Value
  >;
}
