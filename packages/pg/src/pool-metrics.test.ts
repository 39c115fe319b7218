import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { valueOf } from '@gatehouse/test/exposition';
import { createPool, type Pool } from './pool.ts';
import { observePools } from './pool-metrics.ts';

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase('tenant');
  const log = createLogger('test', 'silent');
  pool = createPool({ url: database.url, role: 'tenant_app', max: 1, log });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

it('metrics show how many connections a pool has, and how many queries wait for one', async () => {
  const registry = createRegistry('test');
  observePools(registry, { only: pool });
  const shown = async (): Promise<(number | undefined)[]> => {
    const text = await registry.metrics();
    const of = (name: string, labels = {}) =>
      valueOf(text, `gatehouse_database_${name}`, { pool: 'only', ...labels });
    return [of('connections_max'), of('connections', { state: 'used' }), of('waiting')];
  };
  expect(await shown()).toEqual([1, 0, 0]);
  const client = await pool.connect();
  const waiting = pool.query('select 1');
  expect(await shown()).toEqual([1, 1, 1]);
  client.release();
  await waiting;
  expect(await shown()).toEqual([1, 0, 0]);
});
