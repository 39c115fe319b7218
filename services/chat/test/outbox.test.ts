import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool, type PoolClient } from '@gatehouse/pg/pool';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { query } from '@gatehouse/test/query';
import { RunOutbox } from '../src/recording/outbox-system-store.ts';

const limits = { rows: 500, bytes: 4_000_000 };
const partitions = [0, 1, 2, 3, 4, 5, 6, 7];

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase('chat');
  pool = createPool({
    url: database.url,
    role: 'chat_system',
    max: 1,
    log: createLogger('chat', 'silent'),
    // As in the service.
    settings: { enable_seqscan: 'off', plan_cache_mode: 'force_generic_plan' },
  });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

async function insertRows(tenantId: string, count: number): Promise<number> {
  const [row] = await query<{ partition: number }>(
    database.adminUrl,
    `with made as (
       insert into chat.outbox (tenant_id, run_id, started_at, data)
       select $1, $1, now() - interval '1 minute', '{}' from generate_series(1, $2::integer) returning partition
     ) select min(partition) as partition from made`,
    [tenantId, count],
  );
  return row?.partition ?? 0;
}

/** How many rows of the outbox some work reads. */
async function rowsRead(client: PoolClient, work: () => Promise<void>): Promise<number> {
  await client.query('begin');
  await work();
  const { rows } = await client.query<{ read: number }>(
    `select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
     where relid = 'chat.outbox'::regclass`,
  );
  await client.query('commit');
  return rows[0]?.read ?? Infinity;
}

const runOutbox = new RunOutbox();

it('reads the oldest events of some partitions without the rows of others, also by a plan for an empty table', async () => {
  const client = await pool.connect();
  try {
    await runOutbox.read(client, partitions, limits);
    await runOutbox.ageSeconds(client, partitions);
    await runOutbox.count(client, partitions, 1_000);
    const crowded = await insertRows(newId(), 100_000);
    const wanted = partitions.filter((partition) => partition !== crowded);
    let own = crowded;
    while (own === crowded) own = await insertRows(newId(), 1);
    for (const analyzed of [false, true]) {
      if (analyzed) await query(database.adminUrl, 'vacuum analyze chat.outbox');
      const read = await rowsRead(client, async () => {
        const { entries } = await runOutbox.read(client, wanted, limits);
        expect(entries.map(({ partition }) => partition)).toContain(own);
        expect(await runOutbox.ageSeconds(client, partitions)).toBeGreaterThan(0);
        expect(await runOutbox.count(client, wanted, 1_000)).toBeLessThan(100);
      });
      expect(read).toBeLessThan(1_000);
    }
    const all = await rowsRead(client, async () => {
      expect((await runOutbox.read(client, partitions, limits)).entries).toHaveLength(500);
    });
    expect(all).toBeLessThan(10_000);
  } finally {
    client.release();
  }
});
