import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { migrate } from '@gatehouse/pg/migrate';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { query } from '@gatehouse/test/query';

const migrations = path.join(import.meta.dirname, '../migrations');

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  database = await createTestDatabase('webhook');
  await query(database.adminUrl, 'drop schema webhook cascade');
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-migrations-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await database.drop();
});

/** Applies the migrations up to one. */
async function upTo(last: string): Promise<void> {
  for (const file of await readdir(migrations))
    if (file.endsWith('.sql') && file.slice(0, 4) <= last)
      await cp(path.join(migrations, file), path.join(folder, file));
  const { adminUrl } = database;
  await migrate({ service: 'webhook', adminUrl, serviceUrl: database.url, directory: folder });
}

it('calls are read under a lock that lets them be written: 0004 adds a constraint, and 0005 checks it', async () => {
  const isChecked = () =>
    query(
      database.adminUrl,
      `select convalidated from pg_constraint where conname = 'calls_channel_delivery_check'`,
    );
  await upTo('0004');
  expect(await isChecked()).toEqual([{ convalidated: false }]);
  await upTo('0005');
  expect(await isChecked()).toEqual([{ convalidated: true }]);
});
