import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { afterCommit, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { PgBoss, QueuePolicy } from 'pg-boss';
import { createBoss } from './library.ts';
import { assertIds, assertTasks, deadQueue, type IdsOf, type Task, type Tasks } from './task.ts';
import { addJob, anyActive, deleteWaiting } from './store/job-store.ts';
import { jobsSchema } from './store/schema-store.ts';

export interface JobsOptions<Known extends Tasks> {
  /** The service of these jobs; `jobs: true` in the list of services. */
  service: string;
  tasks: Known;
  /** A pool of `<service>_system`. */
  system: Pool;
  log: Logger;
}

export interface NewJob<Known extends Tasks, Name extends keyof Known> {
  task: Name;
  /** The tenant the job works for: row-level security and fairness go by it. */
  tenantId: string;
  ids: IdsOf<Known[Name]>;
  /** Not before this time. Default: at once. */
  runAt?: Date;
  /** Not before so many seconds from now, by the database's clock. */
  afterS?: number;
  /**
   * At most one job of the tenant and task with this key waits for its first attempt; adding another one changes
   * nothing. A running or tried one does not count, because it may have read what has changed since. Tasks `inOrder`
   * need a key: there a tried one counts too, and a waiting one runs at the earlier of both times.
   */
  key?: string;
  /**
   * Adds nothing either if a job with the key waits for a later attempt. Meant for periodic searches, which find the
   * same work again.
   */
  unlessTried?: true;
  /** Higher ones run before others of the same task and tenant. Tenants take turns whatever theirs are. Default: 0. */
  priority?: number;
}

/**
 * The jobs of a service: adds and cancels them. `JobWorker` runs them. Several replicas, of different releases, may do
 * both at the same time.
 */
export class Jobs<Known extends Tasks> {
  readonly tasks: Known;
  readonly schema: string;
  readonly service: string;
  readonly boss: PgBoss;
  readonly system: Pool;
  #onAdded: (task: string, tenantId: string) => void = () => undefined;

  /** Throws if the options of a task contradict each other. */
  constructor({ service, tasks, system, log }: JobsOptions<Known>) {
    assertTasks(tasks);
    this.service = service;
    this.schema = jobsSchema(service);
    this.tasks = tasks;
    this.system = system;
    this.boss = createBoss(service, system, log);
  }

  /**
   * Adds a job in the caller's transaction: it runs if the transaction commits. `db` is the client of a transaction of
   * `withTenant`, which can add jobs of its tenant only, or acts as `<service>_system`. Returns the job's id; undefined
   * if a job with the same key waits.
   */
  async add<Name extends keyof Known & string>(
    db: Queryable,
    job: NewJob<Known, Name>,
  ): Promise<string | undefined> {
    const { task: name, tenantId, ids, key, runAt = null, afterS = 0, priority = 0 } = job;
    const { inOrder = false, retryAfterS } = this.#taskOf(name);
    assertIds(ids);
    if (inOrder && key === undefined) throw new Error(`a job of ${name} needs a key`);
    const id = newId();
    const row = { id, task: name, tenantId, ids, runAt, afterS, priority, retryLimit: retryAfterS.length };
    const added = await addJob(db, this.schema, {
      job: { ...row, key: keyOf(tenantId, key ?? id) },
      ...{ inOrder, unlessTried: inOrder || job.unlessTried === true },
    });
    if (added || inOrder) afterCommit(db, () => this.#onAdded(name, tenantId));
    return added ? id : undefined;
  }

  /**
   * Deletes the job with this key if it does not run yet or waits for its next attempt. Returns the number of deleted
   * jobs: a job of this key may wait for its next attempt beside a newer one.
   */
  cancel<Name extends keyof Known & string>(
    db: Queryable,
    { task: name, tenantId, key }: { task: Name; tenantId: string; key: string },
  ): Promise<number> {
    return deleteWaiting(db, this.schema, { task: name, key: keyOf(tenantId, key) });
  }

  /**
   * Whether one of these jobs of a tenant runs: jobs of `tasks` with one of `ids` as `member`. A job of a lost replica
   * counts until it is taken for lost.
   */
  anyRunning<Name extends keyof Known & string>(
    db: Queryable,
    filter: {
      tenantId: string;
      tasks: readonly Name[];
      member: keyof IdsOf<Known[Name]> & string;
      ids: readonly string[];
    },
  ): Promise<boolean> {
    return anyActive(db, this.schema, filter);
  }

  /** Calls `listener` with task and tenant after a transaction of this process has added a job. */
  onAdded(listener: (task: string, tenantId: string) => void): void {
    this.#onAdded = listener;
  }

  /** Creates the queues of the tasks. Throws if a task has changed `inOrder`, which its waiting jobs can't follow. */
  async createQueues(): Promise<void> {
    await this.#createQueue(deadQueue, 'standard');
    for (const [name, task] of Object.entries(this.tasks)) await this.#createQueue(name, policyOf(task));
  }

  async #createQueue(name: string, policy: QueuePolicy): Promise<void> {
    const retention = { retentionSeconds: retentionS };
    const options = name === deadQueue ? retention : { ...retention, deadLetter: deadQueue };
    let queue = await this.boss.getQueue(name);
    if (queue === null) {
      await this.boss.createQueue(name, { policy, ...options });
      queue = await this.boss.getQueue(name);
    }
    if (queue?.policy !== policy)
      throw new Error(`the task ${name} can't change inOrder: give the new task another name`);
  }

  #taskOf(name: string): Task {
    const task = this.tasks[name];
    if (task === undefined) throw new Error(`there is no task ${name}`);
    return task;
  }
}

/** How long a job waits, and how long a dead one is kept. */
const retentionS = 30 * 24 * 3600;

/** `short`: one job with a key waits for its first attempt. `key_strict_fifo`: one job with a key runs at a time. */
function policyOf({ inOrder }: Task): QueuePolicy {
  return inOrder === true ? 'key_strict_fifo' : 'short';
}

/** Keys of different tenants never meet. */
function keyOf(tenantId: string, key: string): string {
  assertIds({ key });
  return `${tenantId}/${key}`;
}
