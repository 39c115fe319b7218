import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import path from 'node:path';
import type { ChildAnswer } from './child-entry.ts';

export interface ProgramOptions {
  /** The file that exports the function. */
  file: string;
  /** The name of the function. */
  task: string;
  /** The most that the heap of a process may hold. A process that needs more ends. */
  maxHeapMiB: number;
}

const extension = path.extname(import.meta.filename);
const entry = path.join(import.meta.dirname, `child-entry${extension}`);
/** The folder that holds all code: processes may read the code in it, and nothing else. */
const root = path.join(import.meta.dirname, '../../..');
const readable = ['node_modules', 'packages', 'services'].map((folder) => path.join(root, folder));
/** A process may take this long to load its code on a busy machine. */
const startMs = 20_000;
const maxErrorChars = 2_048;

/** A process of its own that runs one function for one input at a time. */
export class SandboxProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<string>;
  readonly #ready: Promise<unknown>;
  #errors = '';
  #busy = false;

  constructor({ file, task, maxHeapMiB }: ProgramOptions) {
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
    this.#ended = once(child, 'close').then(
      ([code, signal]) => `with ${String(signal ?? code)}`,
      (error: unknown) => String(error),
    );
    this.#ready = Promise.race([once(child, 'message'), this.#ended, timeout(startMs)]);
    if (child.pid !== undefined) putLast(child.pid);
  }

  /** Whether it can take an input: false while it has one, and once it has ended or is about to. */
  get free(): boolean {
    return !this.#busy && this.#child.connected && !this.#child.killed;
  }

  /** Throws if the process can't load its code. */
  async start(): Promise<void> {
    await this.#ready;
    if (this.free) return;
    await this.kill();
    throw new Error(`a sandbox did not start: ${this.#errors.trim() || (await this.#ended)}`);
  }

  /** Throws what the function throws, an error if the process ends before, or the reason of `signal`. */
  async run(input: unknown, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<ChildAnswer>();
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    const onMessage = (message: unknown): void => {
      this.#busy = false;
      resolve(message as ChildAnswer);
    };
    this.#child.once('message', onMessage);
    void this.#ended.then((how) => reject(new Error(`a sandbox ended ${how}`)));
    this.#busy = true;
    try {
      this.#child.send({ input });
      const answer = await promise;
      if ('failure' in answer) throw new Error(answer.failure);
      return answer.value;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#child.off('message', onMessage);
    }
  }

  /** Resolves when the process has ended, whatever it was doing. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
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

/** The service comes first: in use of the cores, and in memory when the container has none left. */
function putLast(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // The process has ended already, or the system is not Linux.
  }
}

function timeout(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
