import { Client } from 'pg';

const connectTimeoutMs = 5_000;

/** The rows of one statement, over a connection of its own and as whom the URL names. */
export async function query<Row extends object>(
  url: string,
  sql: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  // Of a server that goes away the statement tells.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(sql, values)).rows;
  } finally {
    await client.end();
  }
}
