import { BackgroundLoop, jittered } from '@gatehouse/kit/background-loop';
import { monotonicMs, settledWithin, sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { isDatabaseOutage } from '@gatehouse/pg/errors';
import { fail, finish, release } from './attempts.ts';
import type { JobMetrics } from './job-metrics.ts';
import type { Jobs } from './jobs.ts';
import { lastOfTurns, takeNext, type Claim, type TakenJob } from './store/job-system-store.ts';
import type { JobHandler, JobIds, Task, Tasks } from './task.ts';

export interface TaskRunnerOptions {
  jobs: Jobs<Tasks>;
  name: string;
  task: Task;
  handler: JobHandler;
  log: Logger;
  metrics: JobMetrics;
  /** Interval at which the worker looks for jobs added by other replicas or now due, and wakes the runner. */
  pollMs: number;
}

/** Time for a handler to end after its signal has aborted; then its job goes on without it. */
export const graceMs = 1_000;
const settleRetryMs = 1_000;
/** Comes before the id of every tenant. */
const beforeAll = '';
/** Without being woken, a runner looks for jobs by itself after so many polls of its worker. */
const restPolls = 15;

interface Running {
  claim: Claim;
  controller: AbortController;
  /** Another replica has taken the job over. */
  lost: boolean;
  /** The job goes back to the queue unless its handler succeeds. */
  released: boolean;
  ended: Promise<void>;
}

/** Runs the jobs of one task: as many as have a slot, and of each tenant as many as it may have. */
export class TaskRunner {
  readonly #options: TaskRunnerOptions;
  readonly #running = new Set<Running>();
  readonly #tenants = new Map<string, number>();
  readonly #loop: BackgroundLoop;
  /** After an empty answer: asking again for the same tenants is useless for a while. */
  #empty: { full: readonly string[]; until: number } | undefined;
  #lastTenant = beforeAll;
  /** Set at the end of a drain: what can't be settled now is left to other replicas. */
  #isGivenUp = false;

  constructor(options: TaskRunnerOptions) {
    this.#options = options;
    const { log, name, pollMs } = options;
    const report = (error: unknown): void =>
      log.warn({ err: error, task: name }, 'failed to look for jobs; retrying');
    this.#loop = new BackgroundLoop(() => this.#round(), { report, pauseMs: pollMs });
  }

  start(): void {
    this.#loop.start(0);
  }

  /** Starts no more jobs. */
  drain(): void {
    void this.#loop.stop();
  }

  /** A job was added. While its tenant has all its slots, it can't run. */
  added(tenantId: string): void {
    if ((this.#tenants.get(tenantId) ?? 0) < this.#options.task.perTenant) this.wake();
  }

  /** A job may have become free. */
  wake(): void {
    this.#empty = undefined;
    this.#loop.wake();
  }

  /** The running attempts. */
  claims(): Claim[] {
    return [...this.#running].filter(({ lost }) => !lost).map(({ claim }) => claim);
  }

  /** Ends attempts of jobs taken over by other replicas. */
  lose(claims: readonly Claim[]): void {
    for (const running of this.#running) {
      if (!claims.includes(running.claim) || running.lost) continue;
      running.lost = true;
      running.controller.abort(new Error('another attempt has taken the job over'));
    }
  }

  /** After `drain`: waits up to `ms` for the running jobs, then releases the others for other replicas. */
  async stop(ms: number): Promise<void> {
    await this.#loop.stop();
    await settledWithin(this.#allEnded(), ms);
    for (const running of this.#running) {
      running.released = true;
      running.controller.abort(new Error('this replica stops'));
    }
    await settledWithin(this.#allEnded(), 2 * graceMs);
    this.#isGivenUp = true;
  }

  async #allEnded(): Promise<void> {
    await Promise.all([...this.#running].map(({ ended }) => ended));
  }

  async #round(): Promise<number> {
    await this.#fill();
    return jittered(restPolls * this.#options.pollMs);
  }

  /**
   * One statement for each job, so each sees the tenants without a slot left. One without a result has looked at every
   * tenant, so it is not repeated until something has changed.
   */
  async #fill(): Promise<void> {
    const { jobs, task, pollMs } = this.#options;
    while (this.#running.size < task.concurrency && !this.#isStopping()) {
      const full = [...this.#tenants].flatMap(([tenant, count]) => (count >= task.perTenant ? [tenant] : []));
      if (this.#isEmpty(full)) return;
      const job = await this.#take(full);
      if (job === null) {
        this.#empty = { full, until: monotonicMs() + pollMs / 2 };
        return;
      }
      const { ids, ...claim } = job;
      if (this.#isStopping()) return release(jobs, claim);
      this.#lastTenant = claim.tenantId;
      this.#begin(claim, ids);
    }
  }

  /** The next job: tenants take turns, after the tenant of the last one. Null if no job may run. */
  async #take(full: readonly string[]): Promise<TakenJob | null> {
    const { jobs, name: task, task: options } = this.#options;
    const { system, schema } = jobs;
    let after = this.#lastTenant;
    let isLastRound = after === beforeAll;
    for (;;) {
      const job = await takeNext(system, schema, { task, inOrder: options.inOrder === true, after, full });
      if (job !== null) return job;
      const last = await lastOfTurns(system, schema, { task, after });
      if (last === null && isLastRound) return null;
      isLastRound ||= last === null;
      after = last ?? beforeAll;
    }
  }

  #isStopping(): boolean {
    return this.#loop.signal.aborted;
  }

  #isEmpty(full: readonly string[]): boolean {
    if (this.#empty === undefined || monotonicMs() >= this.#empty.until) return false;
    return this.#empty.full.every((tenant) => full.includes(tenant));
  }

  #begin(claim: Claim, ids: JobIds): void {
    // An earlier attempt, taken for lost, may still run here.
    this.lose(this.claims().filter(({ id }) => id === claim.id));
    const { tenantId } = claim;
    const controller = new AbortController();
    const running: Running = { claim, controller, lost: false, released: false, ended: Promise.resolve() };
    this.#running.add(running);
    this.#tenants.set(tenantId, (this.#tenants.get(tenantId) ?? 0) + 1);
    this.#options.metrics.running.inc({ task: claim.task });
    running.ended = this.#attempt(running, ids).finally(() => this.#end(running));
  }

  #end(running: Running): void {
    const { tenantId, task } = running.claim;
    this.#running.delete(running);
    const left = (this.#tenants.get(tenantId) ?? 1) - 1;
    if (left > 0) this.#tenants.set(tenantId, left);
    else this.#tenants.delete(tenantId);
    this.#options.metrics.running.dec({ task });
    // The next job of its queue has become free.
    if (this.#options.task.inOrder === true) this.#empty = undefined;
    this.#loop.wake();
  }

  /** Never rejects. The slot stays taken until the handler has ended, even if its job goes on without it. */
  async #attempt(running: Running, ids: JobIds): Promise<void> {
    const { claim, controller } = running;
    const { task, handler } = this.#options;
    const log = this.#options.log.child({ task: claim.task, job_id: claim.id, tenant_id: claim.tenantId });
    const context = {
      jobId: claim.id,
      tenantId: claim.tenantId,
      attempt: claim.retryCount + 1,
      lastAttempt: claim.retryCount >= claim.retryLimit,
      signal: controller.signal,
      log,
    };
    const deadline = setTimeout(
      () => controller.abort(new DOMException('the deadline of the job has passed', 'TimeoutError')),
      task.deadlineMs,
    );
    const work = Promise.resolve().then(() => handler(ids, context));
    try {
      await Promise.race([work, rejectedAfter(controller.signal)]);
      await this.#settle(running, log, () => this.#finish(running, log));
    } catch (error) {
      await this.#settle(running, log, () => this.#fail(running, log, error));
    } finally {
      clearTimeout(deadline);
    }
    await work.catch(() => undefined);
  }

  /** Repeats `settle` until the database has answered. Meanwhile the job is this replica's, unless it is lost. */
  async #settle(running: Running, log: Logger, settle: () => Promise<void>): Promise<void> {
    while (!running.lost) {
      try {
        await settle();
        return;
      } catch (error) {
        log.warn({ err: error }, 'failed to record the end of an attempt');
        if (!isDatabaseOutage(error) || this.#isGivenUp) return;
        await sleep(settleRetryMs);
      }
    }
  }

  async #finish({ claim }: Running, log: Logger): Promise<void> {
    const { jobs, metrics } = this.#options;
    if (await finish(jobs, claim)) metrics.done.inc({ task: claim.task });
    else log.warn('a job was taken for lost, but ended');
  }

  async #fail(running: Running, log: Logger, error: unknown): Promise<void> {
    const { jobs, task, metrics } = this.#options;
    const { claim } = running;
    if (running.released) {
      await release(jobs, claim);
      log.info('released a job at the end of the drain');
      return;
    }
    const delayS = task.retryAfterS[Math.min(claim.retryCount, task.retryAfterS.length - 1)] ?? 0;
    await recordFailure({ jobs, metrics, log }, claim, { error, delayS });
  }
}

/** Ends an attempt as failed, with its metrics and a line in the log. */
export async function recordFailure(
  { jobs, metrics, log }: { jobs: Jobs<Tasks>; metrics: JobMetrics; log: Logger },
  claim: Claim,
  { error, delayS }: { error: unknown; delayS: number },
): Promise<void> {
  const failed = await fail(jobs, claim, { error, delayS });
  if (failed === 'lost') return;
  const fields = { err: error, attempt: claim.retryCount + 1 };
  metrics.failed.inc({ task: claim.task });
  if (failed === 'retry') {
    log.warn({ ...fields, retry_after_s: delayS }, 'a job failed; retrying');
    return;
  }
  metrics.dead.inc({ task: claim.task });
  log.error(fields, 'a job failed for the last time; moved it to the dead jobs');
}

/** Rejects with the reason of the signal some time after it has aborted; before then, the handler may end by itself. */
async function rejectedAfter(signal: AbortSignal): Promise<never> {
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await sleep(graceMs);
  throw signal.reason;
}
