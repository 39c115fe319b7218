import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from 'pg';
import { version } from '@gatehouse/kit/version';
import { isDatabaseOutage } from './errors.ts';
import { appliedIn, assertKept, migrationsIn, newerThan } from './migration-record.ts';
import { whenReachable } from './when-reachable.ts';

export interface SchemaCheckOptions {
  pool: Pool;
  service: string;
  /** Folder of `NNNN_*.sql`. */
  directory: string;
  log: Logger;
}

/**
 * A part of a service. Its start succeeds only on a schema usable by this release. While the database can't be reached,
 * it waits: a process exiting instead would be restarted over and over.
 */
export function schemaCheck(options: SchemaCheckOptions): { start: () => Promise<void>; stop: () => void } {
  const { pool, service, directory, log } = options;
  const stopping = new AbortController();
  return {
    async start() {
      const newer = await whenReachable(() => assertMigrated(pool, service, directory), log, stopping.signal);
      if (newer.length > 0) log.warn({ newer }, 'the schema has migrations of a newer release');
    },
    stop: () => stopping.abort(new Error('stopped while waiting for the database')),
  };
}

const contraction = /^\d{4}_contract_/;

/**
 * Throws when migrations are pending, when one was changed after it was applied, when a newer release has removed what
 * this release needs, and for the schema of a version before the first migration (`FormerSchemaError`). Returns the other migrations of newer releases, which are
 * compatible.
 */
export async function assertMigrated(pool: Pool, service: string, directory: string): Promise<string[]> {
  const known = await migrationsIn(directory);
  const applied = await appliedIn(pool, service).catch((error: unknown) => {
    if (isDatabaseOutage(error)) throw error;
    throw new Error(`the schema ${service} does not exist: run the migration step first`, { cause: error });
  });
  assertKept(service, known, applied);
  const pending = known.filter(({ name }) => !applied.some((migration) => migration.name === name));
  if (pending.length > 0)
    throw new Error(`pending migrations in ${service}: ${pending.map(({ name }) => name).join(', ')}`);
  const newer = newerThan(known, applied);
  const contractions = newer.filter(({ name }) => contraction.test(name));
  if (contractions.length > 0)
    throw new Error(
      `the schema ${service} is too new for version ${version}: ` +
        contractions.map(({ name, version: by }) => `${name} of version ${by}`).join(', '),
    );
  return newer.map(({ name }) => name);
}
