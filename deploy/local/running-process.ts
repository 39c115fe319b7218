import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogStream } from './log-stream.ts';
import { StartError } from './start-error.ts';

/** A process started here, of any program. */
export interface RunningProcess {
  readonly pid: number;
  /** Resolves when the process ends, with the reason: `exited with code 1`. */
  readonly ended: Promise<string>;
  /** Stops the process gracefully and waits for its end; kills it after a timeout. */
  stop(): Promise<void>;
  kill(): void;
}

export interface NodeProcessOptions {
  name: string;
  /** Absolute path of the module to run. */
  main: string;
  /** Options of Node itself, like `--inspect`. */
  nodeOptions?: readonly string[];
  environment: Record<string, string>;
  log: LogStream;
  /** Timeout of a graceful stop in milliseconds. */
  stopTimeoutMs: number;
}

/**
 * Runs a module with this Node. The process leads its own session: Ctrl-C in a terminal reaches only the
 * supervisor, which then stops all in order; and it has an IPC channel, which closes when the supervisor ends.
 */
export function startNode(options: NodeProcessOptions): RunningProcess {
  const child = spawn(process.execPath, [...(options.nodeOptions ?? []), options.main], {
    env: options.environment,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  });
  const { pid } = child;
  // Without a process id, the event 'error' follows with the reason.
  child.on('error', (error) => options.log.say(`${options.name}: ${error.message}`, 'ERROR'));
  if (pid === undefined) throw new StartError(`Failed to start ${options.name}.`);
  if (child.stdout !== null) options.log.follow(options.name, child.stdout);
  if (child.stderr !== null) options.log.follow(options.name, child.stderr);
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(describeExit(code, signal)));
  });
  return {
    pid,
    ended,
    kill: () => child.kill('SIGKILL'),
    async stop() {
      child.kill('SIGTERM');
      // A paused process cannot stop.
      child.kill('SIGCONT');
      await timeout(options.stopTimeoutMs, ended);
      child.kill('SIGKILL');
      await ended;
    },
  };
}

export function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `exited with code ${code ?? 0}` : `exited with signal ${signal}`;
}

/** Sends the signals in turn, and waits `timeoutMs` after each, until the process has ended. */
export async function stopInTurn(
  child: ChildProcess,
  ended: Promise<string>,
  { signals, timeoutMs }: { signals: readonly NodeJS.Signals[]; timeoutMs: number },
): Promise<void> {
  for (const signal of signals) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await timeout(timeoutMs, ended);
  }
}

async function timeout(ms: number, unless: Promise<unknown>): Promise<void> {
  const early = new AbortController();
  void unless.then(() => early.abort());
  await sleep(ms, undefined, { signal: early.signal }).catch(() => undefined);
}
