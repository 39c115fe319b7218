import { availableParallelism, cpus } from 'node:os';
import path from 'node:path';
import { freePort } from '@gatehouse/local/ports';
import { startPostgres } from '@gatehouse/local/postgres';
import { migrate } from '@gatehouse/pg/migrate';
import { makeFolder } from './folder.ts';

export interface BenchDatabase {
  /** As superuser. */
  adminUrl: string;
  /** As the service. */
  url: string;
  /** The process id of PostgreSQL. */
  pid: number;
}

/** Starts a PostgreSQL with the schema of a service for a measurement, prints what runs it, and removes it at the end. */
export async function withDatabase(
  service: string,
  measure: (database: BenchDatabase) => Promise<void>,
): Promise<void> {
  const { folder, remove } = await makeFolder();
  const postgres = await startPostgres({
    dataDirectory: path.join(folder, 'postgres'),
    port: await freePort(),
  });
  try {
    console.log(
      `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), PostgreSQL on the same machine\n`,
    );
    const adminUrl = postgres.adminUrl('postgres');
    const serviceUrl = new URL(adminUrl);
    serviceUrl.username = `${service}_login`;
    serviceUrl.password = 'bench';
    const url = serviceUrl.href;
    const directory = path.join(import.meta.dirname, `../../services/${service}/migrations`);
    await migrate({ service, adminUrl, serviceUrl: url, directory });
    await measure({ adminUrl, url, pid: postgres.pid });
  } finally {
    await postgres.stop();
    await remove();
  }
}

/** The value below which this share of the times lies. */
export function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length * share)] ?? 0;
}
