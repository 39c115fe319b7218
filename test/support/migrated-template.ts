import { migrateService } from '@gatehouse/service/migrate';
import { Client } from 'pg';
import { loginUrl, superuserUrl, templateName, type TestPostgres } from './postgres-environment.ts';

/** Creates the database that `createTestDatabase(service)` clones. A failed migration rejects with its SQL error. */
export async function createTemplate(
  server: TestPostgres,
  service: string,
  migrations: string,
): Promise<void> {
  const template = templateName(service);
  const client = new Client({ connectionString: superuserUrl(server, 'postgres') });
  await client.connect();
  try {
    await client.query(`create database ${client.escapeIdentifier(template)}`);
  } finally {
    await client.end();
  }
  try {
    await migrateService({
      service,
      adminUrl: superuserUrl(server, template),
      serviceUrl: loginUrl(server, service, template),
      directory: migrations,
    });
  } catch (error) {
    throw new Error(`Migrating ${service} failed: ${(error as Error).message}`, { cause: error });
  }
}
