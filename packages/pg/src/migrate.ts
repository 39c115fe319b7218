import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { runner } from 'node-pg-migrate';
import { Client, type Pool } from 'pg';
import { isDatabaseOutage } from './errors.ts';

export interface MigrateOptions {
  /** Schema, and prefix of the roles `<service>_app` and `<service>_system`. */
  service: string;
  /** Owner of the schema: may create roles. */
  adminUrl: string;
  /** The service's own URL; its user and password become the login role, unless it exists already. */
  serviceUrl: string;
  /** Folder of `NNNN_*.sql`. */
  directory: string;
}

/** Brings a service's schema up to date. Safe to run again, and when two run at once. */
export async function migrate(options: MigrateOptions): Promise<void> {
  await ensureRoles(options);
  await runner({
    databaseUrl: options.adminUrl,
    dir: options.directory,
    direction: 'up',
    // Whatever else lies there is no migration, here as in `assertMigrated`.
    ignorePattern: '(?!.*\\.sql$).*',
    schema: options.service,
    createSchema: true,
    migrationsSchema: options.service,
    migrationsTable: migrationsTable,
    advisoryLockMode: 'wait',
    log: () => undefined,
  });
}

const migrationsTable = 'migrations';

/** Refuses a schema that is behind (pending migrations) or ahead (a newer release has migrated) of this release. */
export async function assertMigrated(pool: Pool, service: string, directory: string): Promise<void> {
  const known = (await readdir(directory))
    .filter((file) => file.endsWith('.sql'))
    .map((file) => path.parse(file).name);
  const applied = await pool.query<{ name: string }>(`select name from ${service}.${migrationsTable}`).then(
    (result) => result.rows.map((row) => row.name),
    (error: unknown) => {
      if (isDatabaseOutage(error)) throw error;
      throw new Error(`the schema ${service} is not there yet: run the migration step first`, {
        cause: error,
      });
    },
  );
  const pending = known.filter((name) => !applied.includes(name));
  const unknown = applied.filter((name) => !known.includes(name));
  if (pending.length > 0) throw new Error(`pending migrations in ${service}: ${pending.join(', ')}`);
  if (unknown.length > 0)
    throw new Error(`the schema ${service} is newer than this release: ${unknown.join(', ')}`);
}

/**
 * The two roles that act, and the login role that may become either and inherits nothing. Roles belong to the whole
 * cluster, so another database's migration may create them at the same moment.
 */
async function ensureRoles(options: MigrateOptions): Promise<void> {
  const url = new URL(options.serviceUrl);
  const login = decodeURIComponent(url.username);
  const client = new Client({ connectionString: options.adminUrl });
  await client.connect();
  try {
    const app = client.escapeIdentifier(`${options.service}_app`);
    const system = client.escapeIdentifier(`${options.service}_system`);
    await createRole(client, `create role ${app} nologin nobypassrls`);
    await createRole(client, `create role ${system} nologin nobypassrls`);
    const name = client.escapeIdentifier(login);
    const password = client.escapeLiteral(decodeURIComponent(url.password));
    await createRole(client, `create role ${name} login noinherit nobypassrls password ${password}`);
    await createRole(client, `grant ${app}, ${system} to ${name}`);
  } finally {
    await client.end();
  }
}

const duplicateObject = '42710';
const uniqueViolation = '23505';
const concurrentUpdate = 'XX000';

async function createRole(client: Client, statement: string): Promise<void> {
  try {
    await client.query(statement);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== duplicateObject && code !== uniqueViolation && code !== concurrentUpdate) throw error;
  }
}
