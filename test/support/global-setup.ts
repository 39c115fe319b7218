import { randomBytes } from 'node:crypto';
import { freePort } from '@gatehouse/local/ports';
import { startPostgres } from '@gatehouse/local/postgres';
import { postgresBinariesIn } from '@gatehouse/local/postgres-binaries';
import { buildPages } from '@gatehouse/web/build';
import { hostKafka } from './kafka-host.ts';
import { createTemplate, migratedServices, migrationsFolder } from './migrated-template.ts';
import { publishTestPostgres } from './postgres-environment.ts';
import { query } from './query.ts';
import { startRecord } from './statement-record.ts';
import { endTestRun, holdTestRun, makeRunFolder, postgresFolder } from './test-run.ts';
import { hostState } from './used-state.ts';

/** The properties of Jest's configuration that choose tests. */
interface JestRun {
  nonFlagArgs: readonly string[];
  testNamePattern?: string;
  testPathPatterns?: { patterns: readonly string[] };
  onlyChanged: boolean;
  onlyFailures: boolean;
  shard?: object;
}

/**
 * Builds the pages that the edge serves. Starts one PostgreSQL for each run, with a migrated template database for each service that has migrations, and makes
 * one Kafka available, which starts when a test first needs it. `TEST_PGVECTOR` names the folder of another PostgreSQL,
 * whose databases then all have pgvector.
 */
// oxlint-disable-next-line no-restricted-exports -- Jest calls the default export.
export default async function setUp(
  run: JestRun,
  { setupFiles }: { setupFiles: readonly string[] },
): Promise<void> {
  if (setupFiles.length > 0) startRecord(isFull(run) ? 'full' : 'partial');
  await buildPages();
  const folder = await makeRunFolder();
  const ends = [await hostKafka(folder), await hostState(folder)];
  const pgvector = process.env['TEST_PGVECTOR'];
  const postgres = await startPostgres({
    ...(pgvector !== undefined && { binaries: postgresBinariesIn(`${pgvector}/bin`) }),
    dataDirectory: postgresFolder(folder),
    port: await freePort(),
    settings: {
      // No test kills this server, so its data need not be durable.
      ...{ fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
      // Databases live for seconds; each would get its workers.
      autovacuum: 'off',
      // Thousands of connections: clients need 2 ms each for 4,096 rounds over a random password.
      scram_iterations: '1',
    },
  });
  holdTestRun({ folder, postgres, ends });
  const admin = new URL(postgres.adminUrl('postgres'));
  // The pgvector tests are those of memory.
  const services = pgvector === undefined ? await migratedServices() : ['memory'];
  const server = {
    host: admin.hostname,
    port: postgres.port,
    superuser: { name: admin.username, password: admin.password },
    loginPassword: randomBytes(12).toString('hex'),
    services,
  };
  try {
    if (pgvector !== undefined) await query(postgres.adminUrl('template1'), 'create extension vector');
    await Promise.all(services.map((service) => createTemplate(server, service, migrationsFolder(service))));
  } catch (error) {
    // Jest skips the teardown after a failed setup.
    await endTestRun();
    throw error;
  }
  publishTestPostgres(server);
}

function isFull(run: JestRun): boolean {
  const { nonFlagArgs, testNamePattern = '', testPathPatterns, onlyChanged, onlyFailures, shard } = run;
  const isChosen =
    nonFlagArgs.length > 0 || testNamePattern !== '' || (testPathPatterns?.patterns.length ?? 0) > 0;
  return !isChosen && !onlyChanged && !onlyFailures && shard === undefined;
}
