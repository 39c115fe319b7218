import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import { Vacuum } from '../src/recording/vacuum-job.ts';
import { mayVacuum } from '../src/recording/vacuum-system-store.ts';

const log = createLogger('chat', 'silent');
const tables = ['run_log', 'outbox'];

let database: TestDatabase;
let pool: Pool;
let ends: number;
/** How often it has looked whether there is work. */
let looks: number;
let vacuum: Vacuum;
beforeAll(async () => {
  database = await createTestDatabase('chat');
  pool = createPool({ url: database.url, role: 'chat_system', max: 2, log });
});
beforeEach(() => {
  ends = 0;
  looks = 0;
  const countEnds = (): number => {
    looks += 1;
    return ends;
  };
  vacuum = new Vacuum({ pool, countEnds, log, everyMs: 20 });
  vacuum.start();
});
afterEach(() => vacuum.stop());
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** How often each table has been vacuumed on command. */
async function vacuums(): Promise<number[]> {
  const { rows } = await pool.query<{ vacuum_count: string }>(
    `select vacuum_count from pg_stat_user_tables where schemaname = 'chat' and relname = any($1) order by relname`,
    [tables],
  );
  return rows.map((row) => Number(row.vacuum_count));
}

/** It takes up what is due before it looks again. */
async function untilItHasLooked(): Promise<void> {
  const before = looks;
  await eventually(() => expect(looks).toBeGreaterThan(before + 2));
}

it('takes back the space of ended runs each time there are thousands of them, as the role of the service', async () => {
  ends = 3_999;
  await untilItHasLooked();
  expect(await vacuums()).toEqual([0, 0]);
  ends = 4_000;
  await eventually(async () => expect(await vacuums()).toEqual([1, 1]));
  await untilItHasLooked();
  expect(await vacuums()).toEqual([1, 1]);
  ends = 8_000;
  await eventually(async () => expect(await vacuums()).toEqual([2, 2]));
});

it('asks for nothing without the right, as on servers that do not know it', async () => {
  const before = await vacuums();
  const client = new Client({ connectionString: database.adminUrl });
  await client.connect();
  await client.query('revoke maintain on chat.outbox from chat_system');
  await client.end();
  ends = 4_000;
  await untilItHasLooked();
  expect(await mayVacuum(pool)).toBe(false);
  expect(await vacuums()).toEqual(before);
});
