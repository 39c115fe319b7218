import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { freePort } from '@gatehouse/local/ports';
import { eventually } from '@gatehouse/test/eventually';
import type { ChatHarness } from './chat-harness.ts';

const host = '127.0.0.1';

/** Chat in a process of its own, with the heap that its image gives it under a memory limit. */
export class ChatProcess {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(
    harness: ChatHarness,
    { limitMiB, heapPercentage }: { limitMiB: number; heapPercentage: number },
  ): Promise<ChatProcess> {
    const [http, grpc, admin] = await Promise.all([freePort(), freePort(), freePort()]);
    const main = path.join(import.meta.dirname, '../src/main.ts');
    const heap = `--max-old-space-size=${Math.floor((limitMiB * heapPercentage) / 100)}`;
    const child = spawn(process.execPath, [heap, main], {
      env: {
        ...(await harness.environment()),
        ...{ HTTP_PORT: String(http), GRPC_PORT: String(grpc), ADMIN_PORT: String(admin) },
        NODE_ENV: 'production',
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await eventually(async () => {
      const { ok } = await fetch(`http://${host}:${admin}/readyz`);
      if (!ok) throw new Error('chat is not ready');
    });
    return new ChatProcess(child, `http://${host}:${http}`);
  }

  /** The most memory that the process has had, in MiB. */
  async peakMiB(): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid ?? 0}/status`, 'utf8');
    const [, kibibytes] = /^VmHWM:\s+(\d+) kB/m.exec(status) ?? [];
    return Number(kibibytes) / 1024;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill();
    await ended;
  }
}
