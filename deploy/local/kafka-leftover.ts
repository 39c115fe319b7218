import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, sendSignal, startTicks } from './processes.ts';

const stopTimeoutMs = 10_000;

function pidFile(directory: string): string {
  return path.join(directory, 'kafka.pid');
}

/** Records the process that uses the folder. Synchronous, so that the file exists before this process can die. */
export function keepKafkaPid(directory: string, pid: number): void {
  writeFileSync(pidFile(directory), `${pid} ${startTicks(pid) ?? ''}\n`);
}

/**
 * Ends a Kafka process that a crashed run left on this folder. The file also has the start time of the process, so that
 * another process with a reused id is not affected.
 */
export async function stopKafkaLeftover(directory: string): Promise<void> {
  const [pid = 0, ticks] = readPid(directory);
  const runs = (): boolean => pid > 0 && isAlive(pid) && startTicks(pid) === ticks;
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!runs()) return;
    sendSignal(pid, signal);
    // A paused process cannot stop.
    sendSignal(pid, 'SIGCONT');
    const deadline = Date.now() + stopTimeoutMs;
    while (runs() && Date.now() < deadline) await sleep(20);
  }
}

function readPid(directory: string): [pid?: number, ticks?: string] {
  try {
    const [pid = '', ticks = ''] = readFileSync(pidFile(directory), 'utf8').trim().split(' ');
    return [Number.parseInt(pid, 10) || 0, ticks];
  } catch {
    return [];
  }
}
