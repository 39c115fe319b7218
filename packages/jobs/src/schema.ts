import type { Logger } from '@gatehouse/kit/log';
import type { BareClient } from '@gatehouse/pg/pool';
import { getConstructionPlans, getMigrationPlans } from 'pg-boss';
import {
  addTurns,
  createSchema,
  grantAccess,
  jobsSchema,
  readVersions,
  recordRelease,
  type SchemaVersions,
} from './store/schema-store.ts';

/**
 * `version` is the schema of the library's pinned release, and `usableFrom` the oldest version with releases able to
 * work on it. Both are decided when the library is upgraded: see ADR 27.
 */
export const thisRelease: SchemaVersions = { version: 46, usableFrom: 46 };

/**
 * The part of a service's migration step to create and migrate its schema of jobs. Runs as the owner, under the lock of
 * the step and after the service's own migrations. Safe to repeat. Leaves a schema migrated by a newer release
 * unchanged.
 */
export async function migrateJobs(owner: BareClient, service: string): Promise<void> {
  const schema = jobsSchema(service);
  const versions = await readVersions(owner, schema);
  const { version, usableFrom } = thisRelease;
  if (versions !== undefined && versions.version > version) return;
  if (versions?.version === version && versions.usableFrom > 0) return addTurns(owner, schema, service);
  await createSchema(owner, schema);
  if (versions === undefined) await owner.query(getConstructionPlans(schema));
  else if (versions.version < version) await owner.query(upgradeOf(schema, versions.version));
  await grantAccess(owner, schema, service);
  await addTurns(owner, schema, service);
  await recordRelease(owner, schema, { version, usableFrom });
}

/**
 * The library waits up to 30 s for locks, while statements of services queue behind it for 5 s. It builds indexes
 * concurrently, which is not possible in one message with other statements, nor needed: the table of jobs is small.
 */
function upgradeOf(schema: string, from: number): string {
  return getMigrationPlans(schema, from)
    .replaceAll(/lock_timeout = \d+/g, 'lock_timeout = 3000')
    .replaceAll(' CONCURRENTLY', '');
}

/** Throws if this release can't use the schema of jobs; logs a migration by a newer release. */
export async function assertJobsSchema(db: BareClient, service: string, log: Logger): Promise<void> {
  const schema = jobsSchema(service);
  const versions = await readVersions(db, schema);
  if (versions === undefined || versions.version < thisRelease.version || versions.usableFrom === 0)
    throw new Error(`the schema ${schema} is not migrated: run the migration step first`);
  if (versions.usableFrom > thisRelease.version)
    throw new Error(`the schema ${schema} is too new for this release: version ${versions.version}`);
  if (versions.version > thisRelease.version)
    log.warn({ version: versions.version }, 'the schema of jobs is of a newer release');
}
