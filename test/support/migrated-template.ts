import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { migrateService } from '@gatehouse/shell/migrate';
import { Client } from 'pg';
import { loginUrl, superuserUrl, templateName, type TestPostgres } from './postgres-environment.ts';

const servicesFolder = path.join(import.meta.dirname, '../../services');

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

/** Services with a schema of their own. */
export async function migratedServices(): Promise<string[]> {
  const found: string[] = [];
  for (const service of await readdir(servicesFolder)) {
    const files = await readdir(migrationsFolder(service)).catch(() => []);
    if (files.some((file) => file.endsWith('.sql'))) found.push(service);
  }
  return found;
}

export function migrationsFolder(service: string): string {
  return path.join(servicesFolder, service, 'migrations');
}
