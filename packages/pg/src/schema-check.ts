import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from 'pg';
import { assertMigrated } from './migrate.ts';
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
