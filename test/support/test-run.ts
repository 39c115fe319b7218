import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stopKafkaLeftover } from '@gatehouse/local/kafka-leftover';
import type { Postgres } from '@gatehouse/local/postgres';
import { stopLeftovers } from '@gatehouse/local/postgres-leftovers';
import { kafkaFolder } from './kafka-host.ts';

const prefix = 'gatehouse-test-run-';

/** What one Jest run owns. Setup and teardown live in the same process, so it is held here between the two. */
interface TestRun {
  folder: string;
  postgres: Postgres;
  stopKafka: () => Promise<void>;
}

let current: TestRun | undefined;

/** A folder of this run's own, named after its process so that a later run can tell what is abandoned. */
export async function makeRunFolder(): Promise<string> {
  await clearAbandoned();
  const folder = await mkdtemp(path.join(tmpdir(), `${prefix}${process.pid}-`));
  // PostgreSQL runs as an OS user of its own when the tests run as root.
  await chmod(folder, 0o711);
  return folder;
}

export function postgresFolder(runFolder: string): string {
  return path.join(runFolder, 'postgres');
}

export function holdTestRun(run: TestRun): void {
  current = run;
  // Jest does not tear down when it is interrupted.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void endTestRun().finally(() => process.exit(1)));
  }
}

export async function endTestRun(): Promise<void> {
  const run = current;
  current = undefined;
  if (run === undefined) return;
  await Promise.all([run.postgres.stop(), run.stopKafka()]);
  await rm(run.folder, { recursive: true, force: true });
}

/** Servers and folders of runs that were killed. */
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
