import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { freePort } from '@gatehouse/local/ports';
import { startPostgres } from '@gatehouse/local/postgres';
import { migrateService } from '@gatehouse/shell/migrate';
import { Client } from 'pg';
import { fillWithTenants } from './ground.ts';
import { dataFolder } from '../support/data-folder.ts';
import { migrationsFolder, migratedServices } from '../support/migrated-template.ts';

const database = 'statements';

/** Runs `work` with a superuser's client of a database with all services, filled with the rows of many tenants. */
export async function withGround<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(path.join(dataFolder(), 'gatehouse-statements-'));
  // When run as root, PostgreSQL runs as another OS user.
  await chmod(folder, 0o711);
  const postgres = await startPostgres({
    dataDirectory: path.join(folder, 'postgres'),
    port: await freePort(),
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' },
  });
  try {
    await asClient(postgres.adminUrl('postgres'), (client) => client.query(`create database ${database}`));
    const adminUrl = postgres.adminUrl(database);
    for (const service of await migratedServices()) {
      const login = new URL(adminUrl);
      login.username = `${service}_login`;
      login.password = randomBytes(12).toString('hex');
      await migrateService({
        ...{ service, adminUrl, serviceUrl: login.href },
        directory: migrationsFolder(service),
      });
    }
    return await asClient(adminUrl, async (client) => {
      await fillWithTenants(client);
      return work(client);
    });
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function asClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
