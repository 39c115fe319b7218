import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { eventually } from './eventually.ts';
import { loginUrl, superuserUrl, templateName, testPostgres } from './postgres-environment.ts';

export interface TestDatabase {
  /** URL with the login role of the service: its `DATABASE_URL`. */
  url: string;
  /** URL with the superuser, which can read all rows. */
  adminUrl: string;
  /** Drops the database. Rejects when connections to it are still open, because a pool was leaked. */
  drop(): Promise<void>;
}

const leftOpenTimeoutMs = 3_000;

/** A fresh database with the migrated schema of `service`. */
export async function createTestDatabase(service: string): Promise<TestDatabase> {
  const server = testPostgres();
  if (!server.services.includes(service))
    throw new Error(`services/${service}/migrations has no .sql file, so there is no database to clone`);
  const name = `test_${service}_${randomBytes(6).toString('hex')}`;
  await asSuperuser(async (client) => {
    const [database, template] = [name, templateName(service)].map((each) => client.escapeIdentifier(each));
    // Copying files takes half of the processor time of copying pages through the log.
    await client.query(`create database ${database} template ${template} strategy file_copy`);
  });
  return {
    url: loginUrl(server, service, name),
    adminUrl: superuserUrl(server, name),
    drop: () => drop(name),
  };
}

async function drop(name: string): Promise<void> {
  await asSuperuser(async (client) => {
    const leftOpen = await connectionsLeftOpen(client, name);
    await client.query(`drop database if exists ${client.escapeIdentifier(name)} with (force)`);
    if (leftOpen.length > 0)
      throw new Error(`connections to ${name} were left open, close their pools: ${leftOpen.join(', ')}`);
  });
}

/** Connections that stay open: the server notices a closed connection slightly later than the client. */
async function connectionsLeftOpen(client: Client, database: string): Promise<string[]> {
  let names: string[] = [];
  await eventually(async () => {
    const { rows } = await client.query<{ name: string }>(
      `select coalesce(nullif(application_name, ''), usename) as name from pg_stat_activity
       where datname = $1 and backend_type = 'client backend'`,
      [database],
    );
    names = rows.map((row) => row.name);
    if (names.length > 0) throw new Error('there are connections');
  }, leftOpenTimeoutMs).catch(() => undefined);
  return names;
}

async function asSuperuser(work: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: superuserUrl(testPostgres(), 'postgres') });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
