import { Client } from 'pg';

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
