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

/**
 * Brings a service's schema up to date, each file in a transaction of its own. Safe to run again, and when two run at
 * once; a schema that a newer release has migrated is left as it is.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  await migrationsIn(options.directory);
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

/** `NNNN_what_it_does`; a contraction, which takes away what the release before needs, is `NNNN_contract_…` (ADR 18). */
const migrationName = /^\d{4}_[a-z0-9_]+$/;
const contraction = /^\d{4}_contract_/;

async function migrationsIn(directory: string): Promise<string[]> {
  const names = (await readdir(directory))
    .filter((file) => file.endsWith('.sql'))
    .map((file) => path.parse(file).name);
  const misnamed = names.filter((name) => !migrationName.test(name));
  if (misnamed.length > 0)
    throw new Error(`a migration is named NNNN_what_it_does.sql, not ${misnamed.join(', ')}`);
  return names;
}

/**
 * Refuses a schema that is behind (pending migrations), and one from which a newer release has already taken away what
 * this release needs. Resolves with the other migrations of newer releases: they only added to the schema.
 */
export async function assertMigrated(pool: Pool, service: string, directory: string): Promise<string[]> {
  const known = await migrationsIn(directory);
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
  const newer = applied.filter((name) => !known.includes(name));
  const contractions = newer.filter((name) => contraction.test(name));
  if (pending.length > 0) throw new Error(`pending migrations in ${service}: ${pending.join(', ')}`);
  if (contractions.length > 0)
    throw new Error(`the schema ${service} is too new for this release: ${contractions.join(', ')}`);
  return newer;
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
