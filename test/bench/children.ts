import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

const own = path.join(import.meta.dirname, '../..');

/** The processes that a bench has started. They end when it does. */
export class Children {
  readonly #started: ChildProcess[] = [];

  /** Starts a script with this Node. `root` is the work tree that it belongs to. */
  start(
    script: string,
    { args = [], env = {}, root = own }: { args?: string[]; env?: Record<string, string>; root?: string },
  ): ChildProcess {
    const child = spawn(process.execPath, [path.join(root, script), ...args], {
      cwd: root,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    this.#started.push(child);
    return child;
  }

  async stop(): Promise<void> {
    for (const child of this.#started.splice(0).reverse()) {
      if (child.exitCode !== null) continue;
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  }
}

/** Resolves when the process has printed a line like that. */
export async function lineOf(child: ChildProcess, pattern: RegExp): Promise<void> {
  let seen = '';
  return new Promise((resolve, reject) => {
    let isReady = false;
    // Stays attached, so that the process can go on writing.
    child.stdout?.on('data', (chunk) => {
      if (isReady) return;
      seen += String(chunk).slice(0, 10_000);
      isReady = pattern.test(seen);
      if (isReady) resolve();
    });
    child.once('exit', () => reject(new Error(`a process ended before it was ready:\n${seen}`)));
  });
}
