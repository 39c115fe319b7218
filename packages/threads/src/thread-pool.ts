import { Tinypool } from 'tinypool';
import { ThreadTurns } from './thread-turns.ts';

export interface ThreadPoolOptions {
  /** The file of the worker. */
  file: string;
  /** The function that it exports. */
  task: string;
  threads: number;
  /** Beyond that, work is refused. */
  maxWaiting: number;
  /** The same for the work of one tenant. Default: `maxWaiting`. */
  maxWaitingPerTenant?: number;
  /** Of the heap of a thread, which is ended beyond it. Default: Node's, about that of the process. */
  maxHeapMiB?: number;
  /** From when a thread is free. */
  deadlineMs: number;
}

const idleMs = 10_000;

/** Runs one function in worker threads. One tenant uses one thread at a time. */
export class ThreadPool<Input, Output> {
  readonly #options: ThreadPoolOptions;
  readonly #turns: ThreadTurns;
  #pool: Tinypool | undefined;

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
    this.#turns = new ThreadTurns(options);
  }

  /** Throws `service_unavailable` when too much work waits, what the function throws, and at the deadline. */
  run(tenantId: string, input: Input): Promise<Output> {
    return this.#turns.run(tenantId, () => this.#inThread(input));
  }

  /** Resolves when more work may wait. */
  untilFree(): Promise<void> {
    return this.#turns.untilFree();
  }

  async stop(): Promise<void> {
    await this.#pool?.destroy();
  }

  async #inThread(input: Input): Promise<Output> {
    const { file, task, threads, deadlineMs, maxHeapMiB } = this.#options;
    this.#pool ??= new Tinypool({
      filename: file,
      runtime: 'worker_threads',
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: idleMs,
      ...(maxHeapMiB !== undefined && { resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB } }),
    });
    const signal = AbortSignal.timeout(deadlineMs);
    return (await this.#pool.run(input, { signal, name: task })) as Output;
  }
}
