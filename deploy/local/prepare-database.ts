import path from 'node:path';
import { services } from '@gatehouse/contract/services';
import { FormerSchemaError } from '@gatehouse/pg/migration-record';
import { migrateService } from '@gatehouse/shell/migrate';
import { Client } from 'pg';
import { localDatabase, serviceUrl, type DatabaseOptions } from './database.ts';
import { repositoryRoot } from './settings.ts';
import { StartError } from './start-error.ts';

/** Creates the database if it does not exist, and migrates the schemas of all services. */
export async function prepareDatabase(options: DatabaseOptions): Promise<void> {
  await createDatabase(options);
  for (const { name } of services.filter((service) => service.database)) {
    try {
      await migrateService({
        service: name,
        adminUrl: options.adminUrl(localDatabase),
        serviceUrl: serviceUrl(options, name),
        directory: path.join(repositoryRoot, 'services', name, 'migrations'),
      });
    } catch (error) {
      const advice = error instanceof FormerSchemaError ? ': set GATEHOUSE_STATE to a new folder.' : '';
      throw new StartError(`Migrating the database of ${name} failed: ${(error as Error).message}${advice}`, {
        cause: error,
      });
    }
  }
}

const duplicateDatabase = '42P04';

async function createDatabase(options: DatabaseOptions): Promise<void> {
  const client = new Client({ connectionString: options.adminUrl('postgres') });
  await client.connect();
  try {
    await client.query(`create database ${localDatabase}`).catch((error: unknown) => {
      if ((error as { code?: string }).code !== duplicateDatabase) throw error;
    });
  } finally {
    await client.end();
  }
}
