import { newId } from '@gatehouse/kit/ids';
import { createLogger, type Logger } from '@gatehouse/kit/log';
import { Registry } from '@gatehouse/kit/metrics';
import { createPool, withTenant, type Pool } from '@gatehouse/pg/pool';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { query } from '@gatehouse/test/query';
import { JobWorker, type JobTiming } from '../src/job-worker.ts';
import { Jobs, type NewJob } from '../src/jobs.ts';
import type { JobContext, JobHandler, JobHandlers } from '../src/task.ts';
import { tasks, timing, type TestTasks } from './tasks.ts';

/** A call of a handler. */
export interface Call {
  worker: number;
  task: string;
  ids: Readonly<Record<string, string>>;
  context: JobContext;
}

export interface WorkerOptions {
  handle?: (call: Call) => Promise<void>;
  log?: Logger;
  drainTimeoutMs?: number;
  timing?: Partial<JobTiming>;
}

/** A service with jobs: its database, and replicas that run them. */
export class JobsUnderTest {
  readonly tenantId: string = newId();
  readonly database: TestDatabase;
  readonly app: Pool;
  readonly system: Pool;
  readonly jobs: Jobs<TestTasks>;
  readonly calls: Call[] = [];
  readonly #tasks: TestTasks;
  readonly #workers: JobWorker<TestTasks>[] = [];
  readonly #pools: Pool[];

  private constructor(database: TestDatabase, known: TestTasks) {
    this.database = database;
    this.#tasks = known;
    const log = createLogger('test', 'silent');
    this.app = createPool({ url: database.url, role: 'memory_app', max: 4, log });
    this.system = createPool({ url: database.url, role: 'memory_system', max: 4, log });
    this.#pools = [this.app, this.system];
    this.jobs = this.makeJobs();
  }

  static async start(known: TestTasks = tasks): Promise<JobsUnderTest> {
    const made = new JobsUnderTest(await createTestDatabase('memory'), known);
    await made.jobs.createQueues();
    return made;
  }

  /** The jobs as another replica sees them. */
  makeJobs(known: TestTasks = this.#tasks, system: Pool = this.system): Jobs<TestTasks> {
    return new Jobs({ service: 'memory', tasks: known, system, log: createLogger('test', 'silent') });
  }

  /** Starts a replica that runs jobs; without `own`, it does not notice what `jobs` adds until it polls. */
  async work(options: WorkerOptions = {}, own = this.makeJobs()): Promise<StartedWorker> {
    const number = this.#workers.length;
    const registry = new Registry();
    const handler =
      (task: string): JobHandler =>
      async (ids, context) => {
        const call = { worker: number, task, ids, context };
        this.calls.push(call);
        await options.handle?.(call);
      };
    const handlers: JobHandlers<TestTasks> = { embed: handler('embed'), reply: handler('reply') };
    const worker = new JobWorker({
      jobs: own,
      handlers,
      log: options.log ?? createLogger('test', 'silent'),
      registry,
      drainTimeoutMs: options.drainTimeoutMs ?? 1_000,
      timing: { ...timing, ...options.timing },
    });
    this.#workers.push(worker);
    await worker.start();
    return { worker, registry };
  }

  /** Adds a job in a transaction of its tenant. */
  add<Name extends keyof TestTasks>(
    job: Omit<NewJob<TestTasks, Name>, 'tenantId'> & { tenantId?: string },
    jobs: Jobs<TestTasks> = this.jobs,
  ): Promise<string | undefined> {
    const { tenantId = this.tenantId } = job;
    return withTenant(this.app, tenantId, (db) => jobs.add(db, { ...job, tenantId }));
  }

  /** Ids of the calls in their order. */
  handled(): string[] {
    return this.calls.flatMap(({ ids }) => Object.values(ids));
  }

  rows(): Promise<JobRow[]> {
    return query<JobRow>(
      this.database.adminUrl,
      `select name, state::text, group_id, data, output, source_name, source_output, retry_count,
              extract(epoch from start_after - now())::float8 as in_seconds
       from memory_jobs.job order by created_on`,
    );
  }

  async stopWorkers(): Promise<void> {
    await Promise.all(this.#workers.splice(0).map((worker) => worker.stop()));
  }

  async stop(): Promise<void> {
    await this.stopWorkers();
    for (const pool of this.#pools) await pool.end();
    await this.database.drop();
  }
}

export interface StartedWorker {
  worker: JobWorker<TestTasks>;
  registry: Registry;
}

export interface JobRow {
  name: string;
  state: string;
  group_id: string;
  data: unknown;
  output: unknown;
  source_name: string | null;
  source_output: unknown;
  retry_count: number;
  in_seconds: number;
}
