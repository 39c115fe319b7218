import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { AppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { createSystemDatabase, type SystemDatabase } from '../../test/system-database.ts';
import { expiringRows, type ExpiringRowsOptions } from './expiring-rows-job.ts';
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
  const clean = async (
    options: Pick<ExpiringRowsOptions, 'most' | 'retentionDays'>,
    done: () => Promise<void>,
  ): Promise<void> => {
    const { pool } = database;
    const log = createLogger('chat', 'silent');
    const cleaning = expiringRows({ pool, log, table, ...options, firstMs: 0 });
    cleaning.start();
    await eventually(done);
    await cleaning.stop();
  };

  it('deletes those that have expired, more than one batch of them', async () => {
    const tenant = newId();
    await keep(tenant, Array<number>(201).fill(1), '-1 second');
    const [living] = await keep(tenant, [1]);
    await clean({ most: { count: 1_000, bytes: 1_000 } }, async () =>
      expect(await idsOf(tenant)).toEqual([living]),
    );
  });

  it('deletes the oldest of a tenant that keeps too many, or too much, and none of another', async () => {
    const [many, much, few] = [newId(), newId(), newId()];
    const [, second, third] = await keep(many, [1, 1, 1]);
    const [, , last] = await keep(much, [60, 60, 60]);
    const others = await keep(few, [30, 30]);
    await clean({ most: { count: 2, bytes: 100 } }, async () => {
      expect(await idsOf(many)).toEqual([second, third]);
      expect(await idsOf(much)).toEqual([last]);
    });
    expect(await idsOf(few)).toEqual(others);
  });

  it('finds once how many a tenant has too many, in more than one batch', async () => {
    const tenant = newId();
    const [last] = (await keep(tenant, Array<number>(402).fill(1))).slice(-1);
    const first = jest.spyOn(database.pool, 'first');
    await clean({ most: { count: 1, bytes: 100 } }, async () => expect(await idsOf(tenant)).toEqual([last]));
    const looks = first.mock.calls.filter(
      ([statement, values]) => JSON.stringify(statement).includes('window') && values?.[0] === tenant,
    );
    first.mockRestore();
    expect(looks).toHaveLength(1);
  });

  it('has its bounds for a tenant whose retention it cannot read, and asks once in an outage', async () => {
    const tenants = [newId(), newId()];
    const [, last] = await keep(tenants[0] ?? '', [60, 60]);
    const [, other] = await keep(tenants[1] ?? '', [60, 60]);
    await keep(tenants[1] ?? '', [1], '-1 second');
    const retentionDays = jest.fn<(tenantId: string) => Promise<number | null>>();
    retentionDays.mockRejectedValue(new AppError('service_unavailable', 'no tenant service'));
    await clean({ most: { count: 1_000, bytes: 100 }, retentionDays }, async () => {
      expect(await idsOf(tenants[0] ?? '')).toEqual([last]);
      expect(await idsOf(tenants[1] ?? '')).toEqual([other]);
    });
    expect(retentionDays).toHaveBeenCalledTimes(1);
  });

  it('deletes those beyond the retention of their tenant, also beside one that fails', async () => {
    const [failing = '', short = '', long = ''] = [newId(), newId(), newId()].sort();
    const newest = newId();
    for (const [id, place] of [[newest, 3_600] as const, [newId(), -60] as const, [newId(), -60] as const])
      await database.pool.query(inserts[table], [id, short, 1, place, '1 day']);
    const others = [await keep(failing, [1, 1]), await keep(long, [1, 1])];
    const retentionDays = (tenantId: string): Promise<number | null> =>
      tenantId === failing
        ? Promise.reject(new Error('no tenant service'))
        : Promise.resolve(tenantId === short ? 1 : null);
    await clean({ most: { count: 1_000, bytes: 1_000 }, retentionDays }, async () =>
      expect(await idsOf(short)).toEqual([newest]),
    );
    expect([await idsOf(failing), await idsOf(long)]).toEqual(others);
  });
});
