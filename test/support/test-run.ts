import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { stopKafkaLeftover } from '@gatehouse/local/kafka-leftover';
import type { Postgres } from '@gatehouse/local/postgres';
import { stopLeftovers } from '@gatehouse/local/postgres-leftovers';
import { dataFolder, dataFolders } from './data-folder.ts';
import { kafkaFolder } from './kafka-host.ts';

const prefix = 'gatehouse-test-run-';
/** The folder of the run, for its workers. */
const variable = 'GATEHOUSE_TEST_FOLDER';

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
  const folder = await mkdtemp(path.join(dataFolder(), `${prefix}${process.pid}-`));
  // When run as root, PostgreSQL runs as another OS user.
  await chmod(folder, 0o711);
  process.env[variable] = folder;
  return folder;
}

/** The folder of the Jest run that this process belongs to, if it does. */
export function runFolder(): string | undefined {
  return process.env[variable];
}

export function postgresFolder(folder: string): string {
  return path.join(folder, 'postgres');
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
  // Systems of an interrupted run may be about to end.
  await rm(run.folder, { recursive: true, force: true, maxRetries: 10 });
}

/** Stops servers and deletes folders of runs that were killed. */
async function clearAbandoned(): Promise<void> {
  const found = await Promise.all(
    dataFolders.map(async (parent) => {
      const names = (await readdir(parent).catch(() => [])).filter((name) => name.startsWith(prefix));
      return names.map((name) => ({ name, folder: path.join(parent, name) }));
    }),
  );
  for (const { name, folder } of found.flat()) {
    if (isAlive(Number.parseInt(name.slice(prefix.length), 10))) continue;
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
