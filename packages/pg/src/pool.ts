import type { Logger } from '@gatehouse/kit/log';
import { Pool, type PoolClient } from 'pg';

export type { Pool, PoolClient } from 'pg';

export interface PoolOptions {
  /** `postgres://` URL of the service's login role. */
  url: string;
  /** The role the pool's sessions act as: `<svc>_app` (one tenant at a time) or `<svc>_system` (spans tenants). */
  role: string;
  max: number;
  log: Logger;
}

/** A statement that takes longer than this is a fault, and so is a transaction that idles (architecture decision 7). */
const statementTimeoutMs = 5_000;
const idleInTransactionTimeoutMs = 1_000;
const connectTimeoutMs = 2_000;

/**
 * A pool whose sessions start as `role`, which is neither owner of the tables nor exempt from row-level security.
 * `RESET ROLE` returns to that role too, since it is the connection's start-up setting.
 */
export function createPool(options: PoolOptions): Pool {
  const settings = {
    role: options.role,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    timezone: 'UTC',
  };
  const pool = new Pool({
    connectionString: options.url,
    max: options.max,
    application_name: `gatehouse ${options.role}`,
    connectionTimeoutMillis: connectTimeoutMs,
    // The server's own time-out comes first; this one covers a server that answers nothing at all.
    query_timeout: statementTimeoutMs + 1_000,
    keepAlive: true,
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  });
  // Without a listener an idle connection's loss would end the process.
  pool.on('error', (error) => options.log.warn({ err: error }, 'idle database connection lost'));
  return pool;
}

/** Runs `work` in one transaction; rolls back on any throw. */
export async function withTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  return transaction(pool, 'begin', work);
}

/**
 * Runs `work` in one transaction that sees the rows of `tenantId` only. Begin and tenant travel in one message:
 * measured 329 µs against 441 µs for separate ones.
 */
export async function withTenant<Result>(
  pool: Pool,
  tenantId: string,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  if (!/^[0-9a-f-]{36}$/i.test(tenantId)) throw new Error('not a tenant id');
  return transaction(pool, `begin; select set_config('gatehouse.tenant_id', '${tenantId}', true)`, work);
}

async function transaction<Result>(
  pool: Pool,
  begin: string,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((rollbackError: unknown) => {
      broken = rollbackError as Error;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
