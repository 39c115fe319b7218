import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identityOf, runningPid, sendSignal } from './processes.ts';

const stopTimeoutMs = 10_000;

function pidFile(directory: string): string {
  return path.join(directory, 'kafka.pid');
}

/** Records the process using the folder. Synchronous, so the file exists before this process can die. */
export function keepKafkaPid(directory: string, pid: number): void {
  writeFileSync(pidFile(directory), identityOf(pid));
}

/** Ends a Kafka process left on this folder by a crashed run. */
export async function stopKafkaLeftover(directory: string): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const pid = leftoverOf(directory);
    if (pid === undefined) return;
    sendSignal(pid, signal);
    // A paused process cannot stop.
    sendSignal(pid, 'SIGCONT');
    const deadline = Date.now() + stopTimeoutMs;
    while (leftoverOf(directory) !== undefined && Date.now() < deadline) await sleep(20);
  }
}

function leftoverOf(directory: string): number | undefined {
  try {
    return runningPid(readFileSync(pidFile(directory), 'utf8'));
  } catch {
    return undefined;
  }
}
