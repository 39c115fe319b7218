import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { commandLine, isAlive, sendSignal } from './processes.ts';

/** An entry of `<state>/processes.json`. */
export interface ListedProcess {
  name: string;
  /** Null while the process is down. */
  pid: number | null;
  ports: Readonly<Record<string, number>>;
}

function fileIn(stateFolder: string): string {
  return path.join(stateFolder, 'processes.json');
}

/** Synchronous, so consecutive changes are written in order. */
export function writeProcessList(stateFolder: string, processes: readonly ListedProcess[]): void {
  const file = fileIn(stateFolder);
  const unfinished = `${file}.unfinished`;
  writeFileSync(unfinished, `${JSON.stringify(processes, null, 2)}\n`);
  renameSync(unfinished, file);
}

const endTimeoutMs = 5_000;

/**
 * Ends services of a killed supervisor. Services stop when their supervisor exits, but a paused or busy one would still
 * occupy its port. `mains` are the main modules of the services, so no other process is ended.
 */
export async function endListedLeftovers(stateFolder: string, mains: ReadonlySet<string>): Promise<void> {
  const left = readProcessList(stateFolder)
    .map((entry) => entry.pid ?? 0)
    .filter((pid) => pid > 0 && isAlive(pid) && commandLine(pid).some((part) => mains.has(part)));
  for (const pid of left) sendSignal(pid, 'SIGKILL');
  const deadline = Date.now() + endTimeoutMs;
  while (left.some(isAlive) && Date.now() < deadline) await sleep(20);
}

/** Empty before the supervisor has written the list. */
export function readProcessList(stateFolder: string): ListedProcess[] {
  try {
    return JSON.parse(readFileSync(fileIn(stateFolder), 'utf8')) as ListedProcess[];
  } catch {
    return [];
  }
}
