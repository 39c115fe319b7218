import type { Logger } from '@gatehouse/kit/log';

/** The subject of a job: ids by name, like `{ documentId }`. Never content: a handler reads it when it runs. */
export type JobIds = Readonly<Record<string, string>>;

export interface TaskOptions {
  /**
   * Seconds between a failed attempt and the next one. A job of a lost process runs again at once. After one more
   * attempt than there are delays, the job is dead.
   */
  retryAfterS: readonly number[];
  /** After this time the signal of an attempt aborts, and the attempt counts as failed. */
  deadlineMs: number;
  /** How many jobs of the task a replica runs at a time. */
  concurrency: number;
  /** Maximum of them for one tenant; less than `concurrency`, so no tenant takes all. */
  perTenant: number;
  /**
   * Whether jobs with the same key run one after the other. One waiting for its next attempt does the work of those
   * added since. Default: false. A task can't change this: use a new name.
   */
  inOrder?: boolean;
}

/** A task with these ids in its jobs. Made by `defineTask`. */
export interface Task<Ids extends JobIds = JobIds> extends TaskOptions {
  /** Only its type matters. */
  readonly ids?: Ids;
}

/** The tasks of a service by name: lower case, digits and `_`. */
export type Tasks = Readonly<Record<string, Task>>;

export type IdsOf<Made> = Made extends Task<infer Ids> ? Ids : never;

export interface JobContext {
  jobId: string;
  tenantId: string;
  /** 1 for the first attempt. An attempt a drain released does not count. */
  attempt: number;
  /** Whether the job is dead if this attempt fails. */
  lastAttempt: boolean;
  /** Aborts at the deadline, at the end of a drain, and when another replica has taken the job over. */
  signal: AbortSignal;
  /** Adds task, job and tenant to each line. */
  log: Logger;
}

/**
 * Does the work of one job. It may run more than once, also beside an attempt taken for lost, so its effects must be
 * repeatable. A rejection is a failed attempt.
 */
export type JobHandler<Ids extends JobIds = JobIds> = (ids: Ids, context: JobContext) => Promise<void>;

/** A handler for each task. */
export type JobHandlers<Known extends Tasks> = {
  readonly [Name in keyof Known]: JobHandler<IdsOf<Known[Name]>>;
};

/** The queue of dead jobs. */
export const deadQueue = 'dead';

const taskName = /^[a-z][a-z0-9_]{0,49}$/;
const longestDelayS = 30 * 24 * 3600;

/** States the ids of a task's jobs: `defineTask<{ documentId: string }>({ … })`. */
export function defineTask<Ids extends JobIds>(options: TaskOptions): Task<Ids> {
  return options;
}

/** Throws if a task has an unusable name or contradictory options. */
export function assertTasks(tasks: Tasks): void {
  for (const [name, { concurrency, perTenant, deadlineMs, retryAfterS }] of Object.entries(tasks)) {
    if (!taskName.test(name) || name === deadQueue) throw new Error(`${name} is no name for a task`);
    if (!(perTenant >= 1 && perTenant < concurrency))
      throw new Error(`${name}: perTenant must be at least 1 and less than concurrency`);
    if (!(deadlineMs > 0)) throw new Error(`${name}: deadlineMs must be positive`);
    if (!retryAfterS.every((delay) => delay >= 0 && delay <= longestDelayS))
      throw new Error(`${name}: a delay of retryAfterS must have 0 s to 30 days`);
  }
}

const longestId = 512;
const mostIds = 10;

/**
 * Throws unless these are ids: a few short texts PostgreSQL can hold. Content does not belong into a job, because
 * it would stay in the table of jobs when it is deleted elsewhere.
 */
export function assertIds(ids: JobIds): void {
  const entries = Object.entries(ids);
  if (entries.length > mostIds) throw new Error(`a job has at most ${mostIds} ids`);
  for (const [name, id] of entries) {
    if (typeof id !== 'string' || id.length > longestId || id.includes('\u0000') || !id.isWellFormed())
      throw new Error(`${name} is not an id`);
  }
}
