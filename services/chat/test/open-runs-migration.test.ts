import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { Client } from 'pg';

const folder = path.join(import.meta.dirname, '../migrations');
const owner = `owner_${newId().slice(-12)}`;
const contraction = '0007_contract_open_runs.sql';

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await createTestDatabase('chat');
  client = new Client({ connectionString: database.adminUrl });
  await client.connect();
  // As it was before, with an owner who is nothing but that: the same migrations without the last ones.
  await client.query(`drop schema chat cascade; create role ${owner} nologin createrole;
    create schema chat authorization ${owner}; set role ${owner}; create table chat.migrations (name text)`);
  for (const name of (await readdir(folder)).sort()) if (name < contraction) await apply(name);
});
afterAll(async () => {
  await client.query(`reset role; drop owned by ${owner} cascade; drop role ${owner}`);
  await client.end();
  await database.drop();
});

/** Like the migration step, in a transaction. */
async function apply(name: string): Promise<void> {
  await client.query(`begin; ${await readFile(path.join(folder, name), 'utf8')}; commit`);
}

/** The owner sees no row, by policy. */
async function asSuperuser(sql: string, values: unknown[]): Promise<void> {
  await client.query('reset role');
  await client.query(sql, values);
  await client.query(`set role ${owner}`);
}

const ofOneRun = { id: newId(), tenantId: newId() };

it.each([
  [
    'is under way',
    `insert into chat.runs (id, tenant_id, instance_id, operation, channel, request_id, trace_id, span_id, api_key_id,
                            request_model, streamed)
     values ($1, $2, $2, 'chat', 'api', 'r', 't', 's', $2, 'm', false)`,
    `update chat.runs set status = 'ok', ended_at = now() where id = $1 and tenant_id = $2`,
  ],
  [
    'waits to be published',
    `insert into chat.outbox (run_id, tenant_id, type) values ($1, $2, 'gatehouse.run.ended')`,
    'delete from chat.outbox where run_id = $1 and tenant_id = $2',
  ],
])('the tables of runs stay while one %s', async (_state, make, undo) => {
  const values = [ofOneRun.id, ofOneRun.tenantId];
  await asSuperuser(make, values);
  await expect(apply(contraction)).rejects.toThrow(/under way or not published yet/);
  await client.query('rollback');
  await asSuperuser(undo, values);
});

it('they go when all has been told', async () => {
  await apply(contraction);
  const { rows } = await client.query(
    `select to_regclass('chat.runs') as runs, to_regclass('chat.open_runs')::text as open`,
  );
  expect(rows).toEqual([{ runs: null, open: 'chat.open_runs' }]);
});
