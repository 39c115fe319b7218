import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { services } from '@gatehouse/contract/services';
import { version } from '@gatehouse/kit/version';
import { eventually } from '@gatehouse/test/eventually';
import type { TestGateway } from '@gatehouse/test/gateway';
import { PlainOwnerServer } from '@gatehouse/test/plain-owner';
import { lostRows, readRows, type SchemaRows } from '@gatehouse/test/schema-rows';
import { Client } from 'pg';
import {
  emptyQueues,
  folderOf,
  lastVersion,
  migrateAll,
  restore,
  servicesWithSchema,
  startGateway,
  type KeptAnswers,
} from '../releases/kept-version.ts';

/** The last kept version's database, upgraded to the present migrations. */

const database = 'kept';
/** Schemas of a library. Their rows are work in progress, and not in the folder of the version. */
const schemasOfJobs = services.filter(({ jobs }) => jobs === true).map(({ name }) => `${name}_jobs`);
const kept = lastVersion();
let server: PlainOwnerServer;
let client: Client;
let gateway: TestGateway | undefined;

beforeAll(async () => {
  server = await PlainOwnerServer.start();
  await restore(server, database, kept);
  client = new Client({ connectionString: server.superuserUrl(database) });
  await client.connect();
});
afterAll(async () => {
  await gateway?.stop();
  await client.end();
  await server.stop();
});

async function requestsOf(of: TestGateway, key: string): Promise<number> {
  const summary = await of.call('/v1/usage/summary', { key });
  return (summary.body as { totals: { requests: number } }).totals.requests;
}

it('has rows in every table of the version, and keeps them', async () => {
  const before: SchemaRows[] = [];
  for (const schema of servicesWithSchema) before.push(await readRows(client, schema));
  const empty = before.flatMap((tables) => [...tables].filter(([, rows]) => rows.length === 0));
  expect(empty.map(([table]) => table)).toEqual([]);
  for (const schema of schemasOfJobs) {
    await client.query(`select ${schema}.create_queue('kept', '{"policy": "standard"}')`);
    await client.query(`insert into ${schema}.job (name, data) values ('kept', '{"n": 1}')`);
  }
  await migrateAll(server, database);
  for (const schema of schemasOfJobs)
    expect((await client.query(`select name, data, state from ${schema}.job`)).rows).toEqual([
      { name: 'kept', data: { n: 1 }, state: 'created' },
    ]);
  // Keys with all scopes of their role also have those that are new.
  const keys = await client.query(
    `update tenant.api_keys
     set scopes = array(select scope from unnest(scopes) with ordinality as s (scope, place)
       where scope <> all (array['policies.write', 'users.write', 'runs.write', 'guardrails.write']) order by place)
     where role = 'admin' and scopes @> array['policies.write', 'users.write', 'runs.write']
       or role = 'user' and scopes @> array['runs.write']`,
  );
  expect(keys.rowCount).toBeGreaterThan(0);
  for (const [index, schema] of servicesWithSchema.entries())
    expect(lostRows(before[index] ?? new Map(), await readRows(client, schema))).toEqual([]);
});

it('answers what the version answered, and serves', async () => {
  const file = path.join(folderOf(kept), 'answers.json');
  const { keyRing, ownerKey, adminKey, answers } = JSON.parse(await readFile(file, 'utf8')) as KeptAnswers;
  await emptyQueues(() => server.superuserUrl(database));
  gateway = await startGateway(server, database, { keyRing, ownerKey });
  for (const { path: route, key, body } of answers) {
    const answer = await gateway.call(route, { key: key === 'owner' ? ownerKey : adminKey });
    expect({ route, ...answer }).toMatchObject({ route, status: 200, body: body as object });
  }
  const before = await requestsOf(gateway, adminKey);
  const messages = [{ role: 'user', content: 'Hello' }];
  const body = { model: 'agent:clerk', messages };
  expect(await gateway.call('/v1/chat/completions', { key: adminKey, body })).toMatchObject({ status: 200 });
  const running = gateway;
  await eventually(async () => expect(await requestsOf(running, adminKey)).toBe(before + 1));
  const health = await gateway.call('/health', {});
  expect(health.body).toMatchObject({ version });
});
