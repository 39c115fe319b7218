import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { lockWaits } from '@gatehouse/test/lock-waits';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import { Partitions } from '../src/traces/partitions-job.ts';
import { partitionPgStore } from '../src/traces/partition-system-pg-store.ts';
import type { PartitionStore } from '../src/traces/partition-system-store.ts';

const log = createLogger('analytics', 'silent');

let database: TestDatabase;
let pool: Pool;
/** Reads traces in a transaction that stays open, as a backup does. */
let backup: Client;
let store: PartitionStore;
let partitions: Partitions;
beforeEach(async () => {
  database = await createTestDatabase('analytics');
  pool = createPool({ url: database.url, role: 'analytics_system', max: 4, log });
  backup = new Client({ connectionString: database.adminUrl });
  await backup.connect();
  store = partitionPgStore(pool);
  partitions = new Partitions(store, log);
});
afterEach(async () => {
  await partitions.stop();
  await backup.end();
  await pool.end();
  await database.drop();
});

async function startBackup(): Promise<void> {
  await backup.query('begin; lock table analytics.traces in access share mode');
}

/** The months that have a partition, `2026_11`. */
async function months(): Promise<string[]> {
  const { rows } = await backup.query<{ month: string }>(
    `select right(relid::text, 7) as month from pg_partition_tree('analytics.traces') where isleaf order by month`,
  );
  return rows.map(({ month }) => month);
}

describe('a partition of traces that is needed while a backup reads', () => {
  it('gives up before the 5 s of a statement, so that reads and writes go on', async () => {
    await startBackup();
    const attempt = store.ensurePartition('2030-01-01').catch((error: unknown) => error);
    await eventually(async () => {
      const { rows } = await backup.query(`select from ${lockWaits}`);
      expect(rows).toHaveLength(1);
    });
    const began = performance.now();
    await pool.query('select from analytics.traces limit 1');
    expect(performance.now() - began).toBeLessThan(4_000);
    expect(await attempt).toMatchObject({ code: '55P03' });
  });

  it('does not keep the service from starting, and is made once the backup has ended', async () => {
    await partitions.start();
    await partitions.stop();
    const before = await months();
    expect(before).toHaveLength(4);
    await backup.query(`drop table analytics.traces_${before.at(-1) ?? ''}`);
    await startBackup();
    partitions = new Partitions(store, log, 500);
    await partitions.start();
    expect(await months()).toEqual(before.slice(0, -1));
    await backup.query('commit');
    await eventually(async () => expect(await months()).toEqual(before));
  });

  it('keeps the service from starting when it is the one of this month', async () => {
    await startBackup();
    await expect(partitions.start()).rejects.toMatchObject({ code: '55P03' });
  });
});
