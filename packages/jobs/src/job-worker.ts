import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import type { Registry } from '@gatehouse/kit/metrics';
import { whenReachable } from '@gatehouse/pg/when-reachable';
import { attemptOf } from './attempts.ts';
import { jobMetrics, type JobMetrics } from './job-metrics.ts';
import type { Jobs } from './jobs.ts';
import { changedIds } from './library.ts';
import { assertJobsSchema } from './schema.ts';
import { countWaiting, deleteExpired, deleteOldest, readDue, readLost } from './store/job-system-store.ts';
import { deadQueue, type JobHandler, type JobHandlers, type Tasks } from './task.ts';
import { recordFailure, TaskRunner } from './task-runner.ts';

export interface JobWorkerOptions<Known extends Tasks> {
  jobs: Jobs<Known>;
  handlers: JobHandlers<Known>;
  log: Logger;
  registry: Registry;
  /** How long jobs may go on after `drain`: `DRAIN_TIMEOUT_MS`. */
  drainTimeoutMs: number;
  /** For tests. */
  timing?: Partial<JobTiming>;
}

export interface JobTiming {
  /** Interval of looking for tasks with jobs added by other replicas or now due. */
  pollMs: number;
  /** Interval of a replica's heartbeat for its running jobs, and of looking for those of lost replicas. */
  heartbeatMs: number;
  /** After this time without a heartbeat a job runs again. */
  lostAfterMs: number;
  countMs: number;
}

const defaultTiming: JobTiming = { pollMs: 1_000, heartbeatMs: 5_000, lostAfterMs: 15_000, countMs: 15_000 };
/** After this time without a job, a replica looks for jobs in every fourth poll only. Its own wake it in any case. */
const idleAfterMs = 10_000;
const idlePolls = 4;
const cleanMs = 600_000;
const lostAtOnce = 100;
/** Beyond this number only the age matters. */
const mostCounted = 100_000;
const dead = { queue: deadQueue, days: 30, most: 1_000 };

/**
 * Runs the jobs of a service: a part of it, started before its servers. Every replica has one. It uses the connections
 * of the system pool, each for a few milliseconds.
 */
export class JobWorker<Known extends Tasks> {
  readonly #options: JobWorkerOptions<Known>;
  readonly #jobs: Jobs<Tasks>;
  readonly #timing: JobTiming;
  readonly #metrics: JobMetrics;
  readonly #runners = new Map<string, TaskRunner>();
  readonly #chores: readonly PeriodicWork[];
  readonly #stopping = new AbortController();
  #drainedAt: number | undefined;
  #started = false;
  #polls = 0;
  /** When a job was last added, run or found here. At first the start: jobs may have waited for a replica. */
  #activeAt = monotonicMs();
  /** When the database last failed: the heartbeats of all replicas may be late because of it. */
  #troubleAt = -Infinity;

  constructor(options: JobWorkerOptions<Known>) {
    const { jobs, handlers, log, registry } = options;
    this.#options = options;
    this.#jobs = jobs;
    this.#timing = { ...defaultTiming, ...options.timing };
    this.#metrics = jobMetrics(registry);
    for (const [name, task] of Object.entries(jobs.tasks)) {
      const handler = (handlers as Readonly<Record<string, JobHandler>>)[name];
      if (handler === undefined) throw new Error(`the task ${name} has no handler`);
      const { pollMs } = this.#timing;
      const metrics = this.#metrics;
      // From 0, so the first one counts as an increase.
      for (const each of [metrics.done, metrics.failed, metrics.dead, metrics.running, metrics.waiting])
        each.inc({ task: name }, 0);
      this.#runners.set(
        name,
        new TaskRunner({ jobs: this.#jobs, name, task, handler, log, metrics, pollMs }),
      );
    }
    this.#chores = this.#makeChores();
  }

  /** Waits for the database. Throws if this release can't use the schema. */
  async start(): Promise<void> {
    const { jobs, log } = this.#options;
    await whenReachable(
      async () => {
        await assertJobsSchema(jobs.system, jobs.service, log);
        await jobs.createQueues();
      },
      log,
      this.#stopping.signal,
    );
    if (this.#stopping.signal.aborted) return;
    jobs.onAdded((task, tenantId) => {
      this.#activeAt = monotonicMs();
      this.#runners.get(task)?.added(tenantId);
    });
    for (const runner of this.#runners.values()) runner.start();
    for (const chore of this.#chores) chore.start();
    this.#started = true;
  }

  /** Starts no more jobs. */
  drain(): void {
    this.#drainedAt ??= monotonicMs();
    for (const runner of this.#runners.values()) runner.drain();
  }

  /** Waits for running jobs until the drain time is over, then releases them for other replicas. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped while waiting for the database'));
    this.drain();
    const drainedMs = monotonicMs() - (this.#drainedAt ?? 0);
    const leftMs = Math.max(this.#options.drainTimeoutMs - drainedMs, 0);
    await Promise.all([...this.#runners.values()].map((runner) => runner.stop(leftMs)));
    if (this.#started) await Promise.all(this.#chores.map((chore) => chore.stop()));
  }

  #makeChores(): PeriodicWork[] {
    const { heartbeatMs, countMs, pollMs } = this.#timing;
    const { log } = this.#options;
    const every = (everyMs: number, task: string, work: () => Promise<boolean>): PeriodicWork =>
      new PeriodicWork({ task, log, everyMs, round: () => this.#noticingTrouble(work) });
    return [
      every(pollMs, 'look for jobs', () => this.#wakeDue()),
      every(heartbeatMs, 'show that jobs are running', () => this.#heartbeat()),
      every(heartbeatMs, 'look for jobs of lost replicas', () => this.#takeLost()),
      every(countMs, 'count jobs', () => this.#count()),
      every(cleanMs, 'delete old jobs', () => this.#clean()),
    ];
  }

  async #noticingTrouble(work: () => Promise<boolean>): Promise<boolean> {
    try {
      return await work();
    } catch (error) {
      this.#troubleAt = monotonicMs();
      throw error;
    }
  }

  /** One statement for all tasks: an idle replica asks for nothing else. */
  async #wakeDue(): Promise<boolean> {
    const { system, schema } = this.#jobs;
    const runners = [...this.#runners.values()];
    if (runners.some((runner) => runner.claims().length > 0)) this.#activeAt = monotonicMs();
    this.#polls += 1;
    const isIdle = monotonicMs() - this.#activeAt > idleAfterMs;
    if (isIdle && this.#polls % idlePolls !== 0) return false;
    const due = await readDue(system, schema, [...this.#runners.keys()]);
    if (due.length > 0) this.#activeAt = monotonicMs();
    for (const task of due) this.#runners.get(task)?.wake();
    return false;
  }

  async #heartbeat(): Promise<boolean> {
    for (const [name, runner] of this.#runners) {
      const claims = runner.claims();
      if (claims.length === 0) continue;
      const held = changedIds(await this.#jobs.boss.touch(name, claims.map(attemptOf)));
      runner.lose(claims.filter(({ id }) => !held.includes(id)));
    }
    return false;
  }

  /** Lets jobs of lost replicas run again. After an outage it waits until every replica could send a heartbeat. */
  async #takeLost(): Promise<boolean> {
    const { lostAfterMs } = this.#timing;
    if (monotonicMs() - this.#troubleAt < lostAfterMs) return false;
    const { system, schema } = this.#jobs;
    const tasks = [...this.#runners.keys()];
    const lost = await readLost(system, schema, { tasks, lostAfterMs, limit: lostAtOnce });
    for (const claim of lost) {
      const log = this.#options.log.child({ task: claim.task, job_id: claim.id, tenant_id: claim.tenantId });
      const error = new Error('the process that ran the job was lost');
      error.name = 'LostError';
      await recordFailure({ jobs: this.#jobs, metrics: this.#metrics, log }, claim, { error, delayS: 0 });
      this.#runners.get(claim.task)?.wake();
    }
    return lost.length === lostAtOnce;
  }

  async #count(): Promise<boolean> {
    const { system, schema } = this.#jobs;
    const { waiting, age, kept: retained } = this.#metrics;
    for (const row of await countWaiting(system, schema, mostCounted)) {
      if (row.task === deadQueue) {
        retained.set(row.waiting);
        continue;
      }
      waiting.set({ task: row.task }, row.waiting);
      age.set({ task: row.task }, row.oldestSeconds);
    }
    return false;
  }

  async #clean(): Promise<boolean> {
    const { system, schema } = this.#jobs;
    await deleteOldest(system, schema, dead);
    for (const { task, jobs } of await deleteExpired(system, schema))
      this.#options.log.error({ task, jobs }, 'deleted jobs that waited for 30 days');
    return false;
  }
}
