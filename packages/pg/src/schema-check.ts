import { sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from 'pg';
import { isDatabaseOutage } from './errors.ts';
import { assertMigrated } from './migrate.ts';

export interface SchemaCheckOptions {
  pool: Pool;
  service: string;
  /** Folder of `NNNN_*.sql`. */
  directory: string;
  log: Logger;
}

const retryMs = 500;

/**
 * A part of a service whose start succeeds only on a schema that this release can use. While the database can't be
 * reached, it waits: a process that exits instead would be restarted over and over.
 */
export function schemaCheck(options: SchemaCheckOptions): { start: () => Promise<void>; stop: () => void } {
  const stopping = new AbortController();
  return {
    async start() {
      for (let waiting = false; ; waiting = true) {
        try {
          const newer = await assertMigrated(options.pool, options.service, options.directory);
          if (newer.length > 0) options.log.warn({ newer }, 'the schema has migrations of a newer release');
          return;
        } catch (error) {
          if (!isDatabaseOutage(error)) throw error;
          if (!waiting) options.log.warn({ err: error }, 'waiting for the database');
        }
        await sleep(retryMs, stopping.signal);
      }
    },
    stop: () => stopping.abort(new Error('stopped while waiting for the database')),
  };
}
