import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { version } from '@gatehouse/kit/version';
import type { BareClient } from './pool.ts';

/** A file of migrations. */
export interface Migration {
  /** Without `.sql`. */
  name: string;
  /** SHA-256 of its text, in hex. */
  checksum: string;
}

/** A migration a database has. */
export interface AppliedMigration {
  name: string;
  /** Null until its migration step has ended. */
  checksum: string | null;
  /** The version of Gatehouse at its application; null as `checksum`. */
  version: string | null;
}

/** The table of node-pg-migrate, with two columns more. */
export const migrationsTable = 'migrations';

/** The first version with kept migrations: schemas of earlier ones can't be upgraded. */
const firstKeptVersion = '0.3.0';

/** Thrown, before anything is changed, for a schema without the first migration of this release in its record. */
export class FormerSchemaError extends Error {
  constructor(service: string) {
    super(
      `the schema ${service} was made by a version before ${firstKeptVersion}, which version ${version} can't ` +
        'upgrade; its data was left alone. Use a new database',
    );
  }
}

/**
 * `NNNN_what_it_does`. `NNNN_contract_…` marks a contraction, which removes what the previous release needs (ADR 18).
 */
const migrationName = /^\d{4}_[a-z0-9_]+$/;

/** The migrations in a folder, in order. */
export async function migrationsIn(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory))
    .filter((file) => file.endsWith('.sql'))
    .map((file) => path.parse(file).name)
    .sort();
  const misnamed = names.filter((name) => !migrationName.test(name));
  if (misnamed.length > 0)
    throw new Error(`migrations must be named NNNN_what_it_does.sql; found ${misnamed.join(', ')}`);
  return Promise.all(
    names.map(async (name) => ({
      name,
      checksum: checksumOf(await readFile(path.join(directory, `${name}.sql`), 'utf8')),
    })),
  );
}

/** SHA-256 in hex; the same for both kinds of line ends. */
export function checksumOf(text: string): string {
  return createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex');
}

/** Whether the migration step has run before. */
export async function hasRecord(db: BareClient, service: string): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>('select to_regclass($1) is not null as found', [
    `${service}.${migrationsTable}`,
  ]);
  return rows[0]?.found === true;
}

/** The migrations a schema has. Also reads the tables of versions before 0.3.0, which lack the two columns. */
export async function appliedIn(db: BareClient, service: string): Promise<AppliedMigration[]> {
  const { rows } = await db.query<AppliedMigration>(
    `select name, to_jsonb(migrations) ->> 'checksum' as checksum, to_jsonb(migrations) ->> 'version' as version
     from ${service}.${migrationsTable} as migrations order by name`,
  );
  return rows;
}

/**
 * Throws `FormerSchemaError` for a schema of a version before the first migration, and an error with the name of a
 * migration if its file differs from the applied one.
 */
export function assertKept(
  service: string,
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
): void {
  const [first] = known;
  // Migrations run in order, so a record without the first one is not of this release or a later one.
  if (first !== undefined && applied.length > 0 && !applied.some(({ name }) => name === first.name))
    throw new FormerSchemaError(service);
  for (const { name, checksum, version: by } of applied) {
    const file = known.find((migration) => migration.name === name);
    if (file === undefined || checksum === null || file.checksum === checksum) continue;
    throw new Error(
      `the migration ${name} of ${service} was changed after version ${by} applied it: restore the file, and make ` +
        'the change in a new migration',
    );
  }
}

/** The migrations of a newer release. */
export function newerThan(
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
): AppliedMigration[] {
  return applied.filter(({ name }) => !known.some((migration) => migration.name === name));
}

/** Completes the record of what this step has applied. Runs as the owner, under the lock of the step. */
export async function recordChecksums(
  owner: BareClient,
  service: string,
  known: readonly Migration[],
): Promise<void> {
  const applied = await appliedIn(owner, service);
  const complete = (name: string): boolean =>
    applied.some((migration) => migration.name === name && migration.checksum !== null);
  // A change of the table waits for backups.
  if (known.every(({ name }) => complete(name))) return;
  await owner.query(
    `alter table ${service}.${migrationsTable}
       add column if not exists checksum text, add column if not exists version text`,
  );
  await owner.query(
    `update ${service}.${migrationsTable} as applied set checksum = file.checksum, version = $3
     from unnest($1::text[], $2::text[]) as file (name, checksum)
     where applied.name = file.name and applied.checksum is null`,
    [known.map(({ name }) => name), known.map(({ checksum }) => checksum), version],
  );
}
