import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import path from 'node:path';
import { monotonicMs, unlessAborted } from '@gatehouse/kit/clock';
import type { ChildAnswer } from './child-entry.ts';
import { memoryOfSandboxes, type MemoryShare } from './memory-share.ts';
import { maxErrorChars } from './bounds.ts';

export interface ProgramOptions {
  /** The file exporting the function. */
  file: string;
  /** The name of the function. */
  task: string;
  /** Maximum heap of a process. A process needing more ends. */
  maxHeapMiB: number;
  /** Bounds the memory of this process with others. Default: the bound of all sandboxes of the service. */
  memory?: MemoryShare;
}

const extension = path.extname(import.meta.filename);
const entry = path.join(import.meta.dirname, `child-entry${extension}`);
/** The folder of all code: processes may read the code in it, and nothing else. */
const root = path.join(import.meta.dirname, '../../..');
const readable = ['node_modules', 'packages', 'services'].map((folder) => path.join(root, folder));
/** The unit of the times in `/proc`, on all systems Node runs on. */
const msPerTick = 10;

/** A process's current input. */
interface Running {
  number: number;
  resolve: (answer: ChildAnswer) => void;
  reject: (error: Error) => void;
}

/** A process of its own for one function, with one input at a time. */
export class SandboxProcess {
  readonly #child: ChildProcess;
  /** Resolves when the process has ended, with how it did. */
  readonly #ended: Promise<string>;
  readonly #started = Promise.withResolvers<undefined>();
  #state: 'starting' | 'free' | 'busy' | 'ended' = 'starting';
  #running: Running | null = null;
  #tenantId: string | null = null;
  #inputs = 0;
  #errors = '';

  constructor({ file, task, maxHeapMiB, memory = memoryOfSandboxes }: ProgramOptions) {
    const child = fork(entry, [file, task], {
      execArgv: flags(maxHeapMiB),
      // The environment of a service holds its secrets.
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child = child;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(0, maxErrorChars);
    });
    // Failures to start and to send: the process has ended, or is about to.
    child.on('error', () => child.kill('SIGKILL'));
    child.on('message', (message) => this.#onMessage(message));
    this.#ended = once(child, 'close').then(
      ([code, signal]) => `with ${String(signal ?? code)}`,
      (error: unknown) => String(error),
    );
    memory.join(this);
    void this.#ended.then((how) => {
      memory.leave(this);
      this.#onEnd(how);
    });
    this.#started.promise.catch(() => undefined);
    if (child.pid !== undefined) putLast(child.pid);
  }

  /** Whether it can take an input: not before it has loaded its code, and not while it works on one. */
  get free(): boolean {
    return this.#state === 'free' && this.#child.connected;
  }

  /** The tenant of its current or last work. */
  get tenantId(): string | null {
    return this.#tenantId;
  }

  /** Used processor time in ms. On systems other than Linux, the elapsed time. */
  get usedMs(): number {
    try {
      const [, rest = ''] = readFileSync(`/proc/${this.#child.pid ?? 0}/stat`, 'utf8').split(') ');
      const [user = 0, system = 0] = rest.split(' ').slice(11, 13).map(Number);
      return (user + system) * msPerTick;
    } catch {
      return monotonicMs();
    }
  }

  /** Memory shared with no other process. On systems other than Linux, 0. */
  get heldBytes(): number {
    try {
      const [, kB = '0'] =
        /^RssAnon:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${this.#child.pid ?? 0}/status`, 'utf8')) ?? [];
      return Number(kB) * 1_024;
    } catch {
      return 0;
    }
  }

  /** Throws if the process can't load its code, or the reason of `signal`. */
  start(signal: AbortSignal): Promise<undefined> {
    return unlessAborted(signal, this.#started.promise);
  }

  /** Throws what the function throws, an error if the process ends before, or the reason of `signal`. */
  async run(tenantId: string, input: unknown, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    this.#tenantId = tenantId;
    const { promise, resolve, reject } = Promise.withResolvers<ChildAnswer>();
    this.#inputs += 1;
    this.#state = 'busy';
    this.#running = { number: this.#inputs, resolve, reject };
    try {
      this.#child.send({ number: this.#inputs, input });
      const answer = await unlessAborted(signal, promise);
      if ('failure' in answer) throw new Error(answer.failure);
      return answer.value;
    } finally {
      // Keeps neither the input nor the answer for as long as the process lives.
      this.#running = null;
    }
  }

  /** Resolves when the process has ended, whatever it was doing. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    this.#state = 'ended';
    await this.#ended;
  }

  /** A process with an answer to anything but its input is not to be trusted with another one. */
  #onMessage(message: unknown): void {
    const answer = message as ChildAnswer;
    if (this.#state === 'starting' && answer.number === 0) {
      this.#state = 'free';
      this.#started.resolve(undefined);
    } else if (this.#state === 'busy' && answer.number === this.#running?.number) {
      this.#state = 'free';
      this.#running.resolve(answer);
    } else this.#child.kill('SIGKILL');
  }

  #onEnd(how: string): void {
    this.#state = 'ended';
    const error = new Error(`a sandbox ended ${how}`);
    this.#started.reject(
      this.#errors === '' ? error : new Error(`a sandbox did not start: ${this.#errors.trim()}`),
    );
    this.#running?.reject(error);
  }
}

/** No files but the code, no further processes or threads, no native addons. */
function flags(maxHeapMiB: number): string[] {
  return [
    '--permission',
    ...readable.map((folder) => `--allow-fs-read=${folder}/*`),
    '--disallow-code-generation-from-strings',
    `--max-old-space-size=${maxHeapMiB}`,
    '--max-semi-space-size=8',
    ...(extension === '.js' ? ['--conditions=dist'] : []),
  ];
}

/** A service has 0: in contention, a process gets a third of a service's time. */
const niceness = 5;

/** The service comes first: in use of the cores, and in memory, unless a container is ended as a whole. */
function putLast(pid: number): void {
  try {
    setPriority(pid, niceness);
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // The process has ended already, or the system is not Linux.
  }
}
