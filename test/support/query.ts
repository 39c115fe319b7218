import { Client, Pool } from 'pg';

const connectTimeoutMs = 5_000;

/** Runs one statement over a new connection, as the user in the URL, and returns its rows. */
export async function query<Row extends object>(
  url: string,
  sql: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  // If the connection is lost, the statement fails too.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

/**
 * A pool for tests that send many statements: a new connection for each costs more than most statements do. Lost
 * connections are replaced. The caller ends it.
 */
export function openPool(url: string): Pool {
  const pool = new Pool({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  // If a connection is lost, its statement fails too.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
