import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { createSystemDatabase, type SystemDatabase } from '../../test/system-database.ts';
import { expiringRows } from './expiring-rows-job.ts';
import type { ExpiringTable } from './expiring-rows-system-store.ts';

let database: SystemDatabase;
beforeAll(async () => {
  database = await createSystemDatabase();
});
afterAll(() => database.drop());

/** Inserts a row with an id, a tenant, bytes, a place and the time for which it is kept. */
const inserts: Record<ExpiringTable, string> = {
  'chat.responses': `
    insert into chat.responses (id, tenant_id, provider, content, bytes, ready, days, created_at, expires_at)
    values ($1, $2, 'p', '', $3, true, 30, now() - interval '1 day' + make_interval(secs => $4),
            now() + $5::interval)`,
  'chat.thoughts': `
    insert into chat.thoughts (call_id, tenant_id, content, bytes, created_at, expires_at)
    values ($1, $2, '', $3, now() - interval '1 day' + make_interval(secs => $4), now() + $5::interval)`,
  'chat.seals': `
    insert into chat.seals (digest, tenant_id, maker, bytes, created_at, expires_at)
    values (convert_to($1, 'UTF8'), $2, 'm', $3, now() - interval '1 day' + make_interval(secs => $4),
            now() + $5::interval)`,
  'chat.run_contents': `
    insert into chat.run_contents (id, tenant_id, content, bytes, created_at, expires_at)
    values ($1, $2, '', $3, now() - interval '1 day' + make_interval(secs => $4), now() + $5::interval)`,
};
const ids: Record<ExpiringTable, string> = {
  'chat.responses': 'id',
  'chat.thoughts': 'call_id',
  'chat.run_contents': 'id',
  'chat.seals': "convert_from(digest, 'UTF8')",
};

describe.each(Object.keys(inserts) as ExpiringTable[])('the cleaning of %s', (table) => {
  /** Writes rows of a tenant, the oldest first, and returns their ids. */
  const keep = async (tenantId: string, sizes: readonly number[], expires = '1 day'): Promise<string[]> => {
    const made = sizes.map(() => newId());
    for (const [place, bytes] of sizes.entries())
      await database.pool.query(inserts[table], [made[place], tenantId, bytes, place, expires]);
    return made;
  };
  const idsOf = async (tenantId: string): Promise<unknown[]> => {
    const statement = `select ${ids[table]} as id from ${table} where tenant_id = $1 order by created_at`;
    const { rows } = await database.pool.query<{ id: unknown }>(statement, [tenantId]);
    return rows.map(({ id }) => id);
  };
  const clean = async (most: { count: number; bytes: number }, done: () => Promise<void>): Promise<void> => {
    const { pool } = database;
    const log = createLogger('chat', 'silent');
    const cleaning = expiringRows({ pool, log, table, most, firstMs: 0 });
    cleaning.start();
    await eventually(done);
    await cleaning.stop();
  };

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
