import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { readConnectionLimit } from '@gatehouse/pg/connection-limit';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { checkConnections } from './connection-check.ts';
import { ConnectionCount } from './connection-count.ts';

let database: TestDatabase;
let pool: Pool;
const lines: string[] = [];
const log = createLogger('test', 'warn', { write: (line: string) => lines.push(line) });
beforeAll(async () => {
  database = await createTestDatabase('chat');
  pool = createPool({ url: database.url, role: 'chat_system', max: 1, log });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** The check of a process that opens so many connections. */
async function check(most: (limit: { allowed: number; open: number }) => number): Promise<void> {
  const limit = await readConnectionLimit(pool);
  const count = new ConnectionCount();
  count.add('postgres://elsewhere/gatehouse', 10 * limit.allowed);
  count.add(database.url, most(limit) - 1);
  count.add(database.url, 1);
  lines.length = 0;
  await checkConnections(count, { db: pool, url: database.url, log });
}

describe('the connections of a process at its start', () => {
  it('must be no more than the server allows, and should be no more than it has left', async () => {
    await expect(check(({ allowed }) => allowed + 1)).rejects.toThrow('raise max_connections');
    await check(({ allowed }) => allowed);
    expect(lines).toEqual([expect.stringContaining('may run out of connections')]);
    await check(() => 1);
    expect(lines).toEqual([]);
  });
});
