import { afterEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { createTemplate } from './migrated-template.ts';
import { publishTestPostgres, testPostgres } from './postgres-environment.ts';

const service = 'sample';

const migration = `
create table sample.things (id int primary key);
grant usage on schema sample to sample_app;
grant select, insert on sample.things to sample_app;
`;

async function query(url: string, ...statements: string[]): Promise<unknown> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    let value: unknown;
    for (const statement of statements) {
      const { rows } = await client.query<Record<string, unknown>>(statement);
      value = Object.values(rows[0] ?? {})[0];
    }
    return value;
  } finally {
    await client.end();
  }
}

async function withTemplate(sql: string, work: () => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-migrations-'));
  const before = testPostgres();
  const after = { ...before, services: [...before.services, service] };
  try {
    await writeFile(path.join(folder, '0001_things.sql'), sql);
    await createTemplate(after, service, folder);
    publishTestPostgres(after);
    await work();
  } finally {
    publishTestPostgres(before);
    await rm(folder, { recursive: true });
    await query(
      `postgres://${before.superuser.name}:${before.superuser.password}@${before.host}:${before.port}/postgres`,
      `drop database template_${service} with (force)`,
    );
  }
}

describe('a test database', () => {
  const databases: TestDatabase[] = [];

  afterEach(async () => {
    for (const database of databases.splice(0)) await database.drop();
  });

  it('is a clone of its own of the migrated template, used as the login role', async () => {
    await withTemplate(migration, async () => {
      const [one, two] = await Promise.all([createTestDatabase(service), createTestDatabase(service)]);
      databases.push(one, two);
      await query(one.url, 'set role sample_app', 'insert into sample.things values (1)');
      expect(await query(one.adminUrl, 'select count(*)::int from sample.things')).toBe(1);
      expect(await query(two.adminUrl, 'select count(*)::int from sample.things')).toBe(0);
      expect(await query(one.url, 'select current_user')).toBe('sample_login');
      await expect(query(one.url, 'select count(*) from sample.things')).rejects.toThrow('permission denied');
    });
  });

  it('names the migration that failed, with the SQL error', async () => {
    await expect(
      withTemplate('create table sample.things (id nonsense);', async () => undefined),
    ).rejects.toThrow(/Migrating sample failed: .*nonsense/s);
  });

  it('reports connections that a test has left open when it is dropped', async () => {
    await withTemplate(migration, async () => {
      const database = await createTestDatabase(service);
      const leaked = new Client({ connectionString: database.url, application_name: 'leaky pool' });
      leaked.on('error', () => undefined);
      await leaked.connect();
      await expect(database.drop()).rejects.toThrow(/left open.*leaky pool/);
      await leaked.end().catch(() => undefined);
    });
  });

  it('cannot be created for a service without migrations', async () => {
    await expect(createTestDatabase('nothing')).rejects.toThrow('services/nothing/migrations');
  });
});
