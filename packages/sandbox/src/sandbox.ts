import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { Deadline } from './deadline.ts';
import { SandboxProcess, type ProgramOptions } from './sandbox-process.ts';
import { minuteMs } from '@gatehouse/kit/bounds';
import { defaultStartMs } from './bounds.ts';

export interface SandboxOptions extends ProgramOptions {
  /** Processes at the same time. */
  processes: number;
  /** Waiting work; more is refused. */
  maxWaiting: number;
  /** Waiting work of one tenant; more is refused. Default: `maxWaiting`. */
  maxWaitingPerTenant?: number;
  /**
   * A process is killed after more processor time for one input, or after ten times as long in all: the load of the
   * machine does not decide about an input.
   */
  deadlineMs: number;
  /** A process taking longer to load its code is killed. Default: 20 s, for a busy machine. */
  startMs?: number;
  /** A process ends after so long without work. Default: a minute. */
  idleMs?: number;
}

export interface RunOptions {
  signal?: AbortSignal;
  /** Default: the sandbox's. */
  deadlineMs?: number;
}

/**
 * Runs one function in child processes, apart from the service: for templates of tenants, for parsers of data from
 * outside, and for the tokenizer. A process has a limit of memory and no access to files, the environment or further
 * processes, and is killed at the deadline; a native function can't be interrupted otherwise, and a thread out of memory
 * aborts the whole service. One tenant uses one process at a time, and tenants take turns by time.
 */
export class Sandbox<Input, Output> {
  readonly #options: SandboxOptions;
  readonly #queue: FairQueue;
  readonly #idle: { process: SandboxProcess; timer: NodeJS.Timeout }[] = [];
  readonly #busy = new Set<SandboxProcess>();
  #stopped = false;

  constructor(options: SandboxOptions) {
    const { processes: slots, maxWaiting: maxWaitingOfAll, maxWaitingPerTenant } = options;
    const maxWaiting = maxWaitingPerTenant ?? maxWaitingOfAll;
    this.#options = options;
    this.#queue = new FairQueue({ perKey: 1, slots, maxWaiting, maxWaitingOfAll, tooMany });
  }

  /**
   * Throws `service_unavailable` when too much work waits, the function's error (its text alone), the reason of
   * `signal`, a `TimeoutError` at the deadline, and an error when the process needs too much memory. The place counts
   * as taken until a failed process has ended.
   */
  run(tenantId: string, input: Input, options: RunOptions = {}): Promise<Output> {
    const work = (): Promise<Output> =>
      this.#stopped
        ? Promise.reject(new Error('the sandbox is stopped'))
        : this.#inProcess(tenantId, input, options);
    return this.#queue.run(tenantId, work, options.signal);
  }

  /** Ends all processes. Work under way fails. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const idle = this.#idle.splice(0);
    for (const { timer } of idle) clearTimeout(timer);
    await Promise.all(
      [...idle.map(({ process }) => process), ...this.#busy].map((process) => process.kill()),
    );
  }

  async #inProcess(tenantId: string, input: Input, options: RunOptions): Promise<Output> {
    const { signal, deadlineMs = this.#options.deadlineMs } = options;
    const process = this.#takeIdle() ?? new SandboxProcess(this.#options);
    this.#busy.add(process);
    const deadline = new Deadline();
    try {
      const late = AbortSignal.timeout(this.#options.startMs ?? defaultStartMs);
      await process.start(signal ? AbortSignal.any([signal, late]) : late);
      deadline.watch(process, deadlineMs);
      const over = deadline.signal;
      const ends = signal ? AbortSignal.any([signal, over]) : over;
      return (await process.run(tenantId, input, ends)) as Output;
    } finally {
      deadline.stop();
      if (process.free && !this.#stopped) this.#keep(process);
      else await process.kill();
      this.#busy.delete(process);
    }
  }

  #takeIdle(): SandboxProcess | undefined {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      clearTimeout(idle.timer);
      if (idle.process.free) return idle.process;
    }
    return undefined;
  }

  #keep(process: SandboxProcess): void {
    const timer = setTimeout(() => {
      this.#idle.splice(
        this.#idle.findIndex((idle) => idle.process === process),
        1,
      );
      void process.kill();
    }, this.#options.idleMs ?? minuteMs).unref();
    this.#idle.push({ process, timer });
  }
}

function tooMany(): AppError {
  return new AppError('service_unavailable', 'Too much work of this kind waits. Try again in 1 s.', {
    retryAfterMs: 1_000,
  });
}
