import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { PG_MIGRATE_LOCK_ID, runner } from 'node-pg-migrate';
import { Client, type Pool } from 'pg';
import { isDatabaseOutage } from './errors.ts';
import { ensureLogin, makeRoles, rolesOf } from './roles.ts';

export interface MigrateOptions {
  /** Schema, and prefix of the roles `<service>_app` and `<service>_system`. */
  service: string;
  /** Owner of the schema: may create roles. */
  adminUrl: string;
  /** The service's own URL: its user is the login role. */
  serviceUrl: string;
  /** Folder of `NNNN_*.sql`. */
  directory: string;
}

/**
 * Brings a service's schema up to date, each file in a transaction of its own, and lets the service in. Safe to run
 * again, and when two run at once; a schema that a newer release has migrated is left as it is.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  await migrationsIn(options.directory);
  const roles = rolesOf(options.service, options.serviceUrl);
  const owner = new Client({ connectionString: options.adminUrl });
  // A lost connection fails the statement, too.
  owner.on('error', () => undefined);
  await owner.connect();
  try {
    await waitForTurn(owner);
    await makeRoles(owner, roles);
    await runMigrations(owner, options);
    await ensureLogin(owner, roles);
  } finally {
    await owner.end();
  }
}

/**
 * While a statement waits for a table's lock, all that come later wait behind it. Services give up on theirs after
 * five seconds: by then a migration has given way.
 */
const lockTimeoutMs = 3_000;
const lockNotAvailable = '55P03';

/** Takes the lock that node-pg-migrate would: another's migration may take as long as it wants, and only that. */
async function waitForTurn(owner: Client): Promise<void> {
  await owner.query('select pg_advisory_lock($1)', [PG_MIGRATE_LOCK_ID]);
  await owner.query(`set lock_timeout = ${lockTimeoutMs}`);
}

async function runMigrations(owner: Client, options: MigrateOptions): Promise<void> {
  try {
    await runner({
      dbClient: owner,
      noLock: true,
      dir: options.directory,
      direction: 'up',
      // Whatever else lies there is no migration, here as in `assertMigrated`.
      ignorePattern: '(?!.*\\.sql$).*',
      schema: options.service,
      createSchema: true,
      migrationsSchema: options.service,
      migrationsTable: migrationsTable,
      log: () => undefined,
    });
  } catch (error) {
    if ((error as { code?: string }).code !== lockNotAvailable) throw error;
    throw new Error(
      `a migration of ${options.service} waited ${lockTimeoutMs} ms for a table that a long transaction holds, ` +
        'such as a backup: nothing of it was changed; run the step again when that has ended',
      { cause: error },
    );
  }
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
