import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { freePort } from '@gatehouse/local/ports';
import { startPostgres } from '@gatehouse/local/postgres';
import { postgresBinariesIn } from '@gatehouse/local/postgres-binaries';
import { hostKafka } from './kafka-host.ts';
import { createTemplate } from './migrated-template.ts';
import { publishTestPostgres } from './postgres-environment.ts';
import { query } from './query.ts';
import { endTestRun, holdTestRun, makeRunFolder, postgresFolder } from './test-run.ts';

const servicesFolder = path.join(import.meta.dirname, '../../services');

/**
 * Starts one PostgreSQL for each run, with a migrated template database for each service that has migrations, and makes
 * one Kafka available, which starts when a test first needs it. `TEST_PGVECTOR` names the folder of another PostgreSQL,
 * whose databases then all have pgvector.
 */
// eslint-disable-next-line no-restricted-exports -- Jest calls the default export.
export default async function setUp(): Promise<void> {
  const folder = await makeRunFolder();
  const stopKafka = await hostKafka(folder);
  const pgvector = process.env['TEST_PGVECTOR'];
  const postgres = await startPostgres({
    ...(pgvector !== undefined && { binaries: postgresBinariesIn(path.join(pgvector, 'bin')) }),
    dataDirectory: postgresFolder(folder),
    port: await freePort(),
    // No test kills this server, so its data need not be durable.
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
  });
  holdTestRun({ folder, postgres, stopKafka });
  const admin = new URL(postgres.adminUrl('postgres'));
  const services = await migratedServices();
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

async function migratedServices(): Promise<string[]> {
  const found: string[] = [];
  for (const service of await readdir(servicesFolder)) {
    const files = await readdir(migrationsFolder(service)).catch(() => []);
    if (files.some((file) => file.endsWith('.sql'))) found.push(service);
  }
  return found;
}

function migrationsFolder(service: string): string {
  return path.join(servicesFolder, service, 'migrations');
}
