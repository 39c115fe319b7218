import { defineTask, type JobHandler, type Task } from '@gatehouse/jobs/task';
import { whileOthersAreDown } from '@gatehouse/jobs/retry-delays';
import { participants, type Forgotten, type ForgetUser, type Participant } from './participants.ts';

/** The deletion that a job calls one service for. */
export interface OpenPart {
  userId: string;
  requestedAtMs: bigint;
}

export interface PartKey {
  tenantId: string;
  deletionId: string;
  service: Participant;
}

/** The deletions, as far as jobs need them. */
export interface DeletionParts {
  /** Null when the service has completed or the deletion is gone. */
  open(key: PartKey): Promise<OpenPart | null>;
  /**
   * Adds what a call with `requestedAtMs` has removed. Unless that completes the service, adds the next job. Ends the
   * deletion with its last service.
   */
  record(key: PartKey, called: Forgotten & { requestedAtMs: bigint }): Promise<void>;
}

/** A task for each service, so that one that is down or slow delays no other. */
export type TaskName = `forget_user_in_${Participant}`;
type DeletionTask = Task<{ deletionId: string }>;

/** Without an attempt for this long, a job is dead or was lost: attempts are five minutes apart at most. */
export const lostAfterMinutes = 15;

const task = { retryAfterS: whileOthersAreDown, deadlineMs: 15_000, concurrency: 4, perTenant: 2 };

export function taskFor(service: Participant): TaskName {
  return `forget_user_in_${service}`;
}

export const deletionTasks = forEach<DeletionTask>(() => defineTask<{ deletionId: string }>(task));

/** Calls each service until it has completed. A call that fails is a failed attempt. */
export function deletionHandlers(
  parts: DeletionParts,
  forgetUser: ForgetUser,
): Record<TaskName, JobHandler<{ deletionId: string }>> {
  return forEach<JobHandler<{ deletionId: string }>>((service) => async ({ deletionId }, { tenantId }) => {
    const key = { tenantId, deletionId, service };
    const open = await parts.open(key);
    if (open === null) return;
    const { counts, completed } = await forgetUser(service, { tenantId, deletionId, ...open });
    await parts.record(key, { counts, completed, requestedAtMs: open.requestedAtMs });
  });
}

function forEach<Value>(make: (service: Participant) => Value): Record<TaskName, Value> {
  // The names of all participants are keys.
  return Object.fromEntries(participants.map((service) => [taskFor(service), make(service)])) as Record<
    TaskName,
    Value
  >;
}
