import type { Logger } from '@gatehouse/kit/log';
import type { Pool, Queryable } from '@gatehouse/pg/pool';
import { PgBoss, type Db } from 'pg-boss';
import { jobsSchema } from './store/schema-store.ts';

/**
 * The library without background work of its own: no connections, timers or migrations. `JobWorker` does this work with
 * the pool and the metrics of the service.
 */
export function createBoss(service: string, system: Pool, log: Logger): PgBoss {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => runAlone(system, text, values) },
    schema: jobsSchema(service),
    migrate: false,
    supervise: false,
    schedule: false,
    registerInstance: false,
    openTelemetry: { enabled: false },
  });
  boss.on('error', (error) => log.warn({ err: error }, 'the library of jobs reported an error'));
  return boss;
}

/** Runs statements of the library in the caller's transaction. */
export function inTransaction(db: Queryable): Db {
  return { executeSql: (text, values) => db.query<Record<string, unknown>>(text, values) };
}

/** Texts without values may begin a transaction; a failed one must not return to the pool. */
async function runAlone(pool: Pool, text: string, values?: unknown[]): ReturnType<Db['executeSql']> {
  if (values !== undefined) return pool.query<Record<string, unknown>>(text, values);
  const client = await pool.connect();
  let broken = true;
  try {
    const result = await client.query<Record<string, unknown>>(text);
    broken = false;
    return result;
  } finally {
    client.release(broken);
  }
}

/** The ids of the jobs a statement of the library has changed; its types leave them out. */
export function changedIds(response: unknown): readonly string[] {
  const { settled } = response as { settled?: unknown };
  if (!Array.isArray(settled))
    throw new Error('the library of jobs no longer returns the ids of changed jobs');
  return settled as string[];
}
