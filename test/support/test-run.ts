import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stopKafkaLeftover } from '@gatehouse/local/kafka-leftover';
import type { Postgres } from '@gatehouse/local/postgres';
import { stopLeftovers } from '@gatehouse/local/postgres-leftovers';
import { kafkaFolder } from './kafka-host.ts';

const prefix = 'gatehouse-test-run-';

/** The resources of one Jest run. Setup and teardown run in the same process, so this module stores it between them. */
interface TestRun {
  folder: string;
  postgres: Postgres;
  /** End what the run has made on request. */
  ends: readonly (() => Promise<unknown>)[];
}

let current: TestRun | undefined;

/** Creates the folder of this run, named after its process so that a later run can recognize abandoned folders. */
export async function makeRunFolder(): Promise<string> {
  await clearAbandoned();
  const folder = await mkdtemp(path.join(tmpdir(), `${prefix}${process.pid}-`));
  // When run as root, PostgreSQL runs as another OS user.
  await chmod(folder, 0o711);
  return folder;
}

export function postgresFolder(runFolder: string): string {
  return path.join(runFolder, 'postgres');
}

export function holdTestRun(run: TestRun): void {
  current = run;
  // Jest skips the teardown when it is interrupted.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void endTestRun().finally(() => process.exit(1)));
  }
}

export async function endTestRun(): Promise<void> {
  const run = current;
  current = undefined;
  if (run === undefined) return;
  await Promise.all([run.postgres.stop(), ...run.ends.map((end) => end())]);
  await rm(run.folder, { recursive: true, force: true });
}

/** Stops servers and deletes folders of runs that were killed. */
async function clearAbandoned(): Promise<void> {
  const folders = (await readdir(tmpdir())).filter((name) => name.startsWith(prefix));
  for (const name of folders) {
    if (isAlive(Number.parseInt(name.slice(prefix.length), 10))) continue;
    const folder = path.join(tmpdir(), name);
    await stopLeftovers(postgresFolder(folder));
    await stopKafkaLeftover(kafkaFolder(folder));
    await rm(folder, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
