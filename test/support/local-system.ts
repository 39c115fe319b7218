import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalCredentials } from '@gatehouse/local/credentials';
import { readProcessList, type ListedProcess } from '@gatehouse/local/process-list';
import { isAlive } from '@gatehouse/local/processes';
import { eventually } from './eventually.ts';
import { runFolder } from './test-run.ts';

const up = path.join(import.meta.dirname, '../../deploy/local/up.ts');
const readyTimeoutMs = 120_000;
const exitTimeoutMs = 90_000;

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** `make up` as a process of its own, or with `--watch` `make dev`, on a state folder of the test's. */
export class LocalSystem {
  readonly stateFolder: string;
  /** All output so far, including standard error. */
  output = '';
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;

  constructor(stateFolder: string, settings: Record<string, string>, parameters: readonly string[] = []) {
    this.stateFolder = stateFolder;
    const environment = Object.entries(process.env).filter(
      ([name]) => !/^(OPENAI|ANTHROPIC|GEMINI|GOOGLE)_/.test(name),
    );
    this.#child = spawn(process.execPath, [up, ...parameters], {
      env: { ...Object.fromEntries(environment), ...settings, GATEHOUSE_STATE: stateFolder },
      // The IPC channel makes it stop when the test process dies.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    }
    this.exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve({ code, signal }));
    });
  }

  /** Process id of the supervisor. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Waits for the line `ready: …`. Rejects with the output when the supervisor exits instead. */
  async ready(): Promise<LocalCredentials> {
    await this.waitForOutput(/^ready: .*\ncurl .*\n/m, readyTimeoutMs);
    return this.credentials();
  }

  async waitForOutput(pattern: RegExp, timeoutMs = 90_000): Promise<void> {
    const printed = await eventually(() => {
      if (pattern.test(this.output)) return true;
      if (this.#child.exitCode !== null) return false;
      throw new Error(`${String(pattern)} was not printed:\n${this.output}`);
    }, timeoutMs);
    if (!printed) throw new Error(`make up exited:\n${this.output}`);
  }

  async credentials(): Promise<LocalCredentials> {
    return JSON.parse(
      await readFile(path.join(this.stateFolder, 'credentials.json'), 'utf8'),
    ) as LocalCredentials;
  }

  processes(): ListedProcess[] {
    return readProcessList(this.stateFolder);
  }

  /** Returns a process by its name, such as `chat-2` or `postgres`. */
  processOf(name: string): ListedProcess {
    const found = this.processes().find((entry) => entry.name === name);
    if (found === undefined) throw new Error(`there is no process ${name}`);
    return found;
  }

  /** Sends a signal to a process by its name, like a crash or a pause, and returns its process id. */
  signal(name: string, signal: NodeJS.Signals): number {
    const { pid } = this.processOf(name);
    if (pid === null) throw new Error(`${name} is down`);
    process.kill(pid, signal);
    return pid;
  }

  /** Signals the supervisor and waits until it exits. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.#child.kill(signal);
    const late = new AbortController();
    const exit = await Promise.race([
      this.exited,
      sleep(exitTimeoutMs, undefined, late).then(() => undefined),
    ]);
    late.abort();
    if (exit === undefined) throw new Error(`make up did not end after ${signal}:\n${this.output}`);
    return exit;
  }
}

export interface StateFolder {
  folder: string;
  remove: () => Promise<void>;
}

/** Creates an empty state folder for `make up`, in the folder of a Jest run if there is one; `remove` deletes it. */
export async function makeStateFolder(): Promise<StateFolder> {
  const folder = await mkdtemp(path.join(runFolder() ?? tmpdir(), 'gatehouse-state-'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Returns the processes that are still running. */
export function survivors(processes: readonly ListedProcess[]): ListedProcess[] {
  return processes.filter(({ pid }) => pid !== null && isAlive(pid));
}
