import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { PG_MIGRATE_LOCK_ID, runner } from 'node-pg-migrate';
import { Client } from 'pg';
import {
  appliedIn,
  assertKept,
  hasRecord,
  migrationsIn,
  migrationsTable,
  newerThan,
  recordChecksums,
  type Migration,
} from './migration-record.ts';
import { ensureLogin, makeRoles, rolesOf } from './roles.ts';

export interface MigrateOptions {
  /** The name of the schema and the prefix of the roles `<service>_app` and `<service>_system`. */
  service: string;
  /** URL of the schema owner, which must be able to create roles. */
  adminUrl: string;
  /** URL for the service; its user becomes the login role. */
  serviceUrl: string;
  /** Folder of `NNNN_*.sql`, and of `repeatable/*.sql`, which run in each step: they must be safe to repeat. */
  directory: string;
  /** Further work of the step, as the owner and under its lock, after the migrations. It must be safe to repeat. */
  also?: (owner: Client) => Promise<void>;
}

/**
 * Applies pending migrations, each file in its own transaction, and creates the roles. Safe to repeat and to run
 * concurrently. Leaves a schema migrated by a newer release unchanged. Throws `FormerSchemaError`, and an error with
 * the name of a migration changed after it was applied.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  const known = await migrationsIn(options.directory);
  const roles = rolesOf(options.service, options.serviceUrl);
  const owner = new Client({ connectionString: options.adminUrl });
  // A lost connection also fails the current statement, which reports it.
  owner.on('error', () => undefined);
  await owner.connect();
  try {
    await takeMigrationLock(owner);
    if (await hasRecord(owner, options.service))
      assertKept(options.service, known, await appliedIn(owner, options.service));
    await makeRoles(owner, roles);
    await explainLockTimeout(options.service, async () => {
      await runMigrations(owner, options);
      await recordChecksums(owner, options.service, known);
      await runRepeatable(owner, options, known);
      await options.also?.(owner);
    });
    await ensureLogin(owner, roles);
  } finally {
    await owner.end();
  }
}

/**
 * While a statement waits for a table lock, later statements on the table queue behind it. The statement timeout of
 * services is 5 s, so a migration gives up earlier.
 */
const lockTimeoutMs = 3_000;
const lockNotAvailable = '55P03';

/**
 * Takes the advisory lock of node-pg-migrate. Waiting for another migration has no timeout, so `lock_timeout` is set
 * afterwards.
 */
async function takeMigrationLock(owner: Client): Promise<void> {
  await owner.query('select pg_advisory_lock($1)', [PG_MIGRATE_LOCK_ID]);
  await owner.query(`set lock_timeout = ${lockTimeoutMs}`);
}

async function runMigrations(owner: Client, options: MigrateOptions): Promise<void> {
  await runner({
    dbClient: owner,
    noLock: true,
    dir: options.directory,
    direction: 'up',
    // Only .sql files are migrations, as in `assertMigrated`.
    ignorePattern: '(?!.*\\.sql$).*',
    schema: options.service,
    createSchema: true,
    migrationsSchema: options.service,
    migrationsTable,
    log: () => undefined,
  });
}

/**
 * Runs scripts depending on the database and not on the release, for example on an extension an operator installs
 * later.
 */
async function runRepeatable(
  owner: Client,
  { service, directory }: MigrateOptions,
  known: readonly Migration[],
): Promise<void> {
  if (newerThan(known, await appliedIn(owner, service)).length > 0) return;
  const folder = path.join(directory, 'repeatable');
  const files = (await readdir(folder).catch(() => [])).filter((file) => file.endsWith('.sql'));
  // Statements in one message are one transaction.
  for (const file of files.sort()) await owner.query(await readFile(path.join(folder, file), 'utf8'));
}

async function explainLockTimeout(service: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if ((error as { code?: string }).code !== lockNotAvailable) throw error;
    throw new Error(
      `a migration of ${service} waited ${lockTimeoutMs} ms for a table lock that a long transaction holds, ` +
        'such as a backup; it was rolled back: run the migration step again when the transaction has ended',
      { cause: error },
    );
  }
}
