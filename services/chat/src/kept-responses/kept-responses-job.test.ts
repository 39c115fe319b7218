import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { createSystemDatabase, type SystemDatabase } from '../../test/system-database.ts';
import { ResponseCleaning } from './kept-responses-job.ts';

let database: SystemDatabase;
beforeAll(async () => {
  database = await createSystemDatabase();
});
afterAll(() => database.drop());

/** Writes responses of a tenant, the oldest first, and returns their ids. */
async function keep(tenantId: string, sizes: readonly number[], expires = '30 days'): Promise<string[]> {
  const ids = sizes.map(() => newId());
  for (const [place, bytes] of sizes.entries())
    await database.pool.query(
      `insert into chat.responses (id, tenant_id, provider, content, bytes, ready, days, created_at, expires_at)
       values ($1, $2, 'p', '', $3, true, 30, now() - interval '1 day' + make_interval(secs => $4),
               now() + $5::interval)`,
      [ids[place], tenantId, bytes, place, expires],
    );
  return ids;
}

async function idsOf(tenantId: string): Promise<string[]> {
  const { rows } = await database.pool.query<{ id: string }>(
    'select id from chat.responses where tenant_id = $1 order by created_at',
    [tenantId],
  );
  return rows.map(({ id }) => id);
}

async function clean(most: { count: number; bytes: number }, done: () => Promise<void>): Promise<void> {
  const cleaning = new ResponseCleaning({
    ...{ pool: database.pool, log: createLogger('chat', 'silent'), most, firstMs: 0 },
  });
  cleaning.start();
  await eventually(done);
  await cleaning.stop();
}

describe('the cleaning of kept responses', () => {
  it('deletes those that have expired, more than one batch of them', async () => {
    const tenant = newId();
    await keep(tenant, Array<number>(201).fill(1), '-1 second');
    const [living] = await keep(tenant, [1]);
    await clean({ count: 1_000, bytes: 1_000 }, async () => expect(await idsOf(tenant)).toEqual([living]));
  });

  it('deletes the oldest of a tenant that keeps too many, or too much, and none of another', async () => {
    const [many, much, few] = [newId(), newId(), newId()];
    const [, second, third] = await keep(many, [1, 1, 1]);
    const [, , last] = await keep(much, [60, 60, 60]);
    const others = await keep(few, [30, 30]);
    await clean({ count: 2, bytes: 100 }, async () => {
      expect(await idsOf(many)).toEqual([second, third]);
      expect(await idsOf(much)).toEqual([last]);
    });
    expect(await idsOf(few)).toEqual(others);
  });
});
