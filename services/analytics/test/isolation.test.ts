import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { withTenant } from '@gatehouse/pg/pool';
import { tablesWithoutPolicies } from '@gatehouse/test/rls-audit';
import { groupedKey, measures, usageKey } from '../src/usage/measure-pg-store.ts';
import { AnalyticsHarness } from './analytics-harness.ts';

let analytics: AnalyticsHarness;
beforeAll(async () => {
  analytics = await AnalyticsHarness.start();
});
afterAll(() => analytics.stop());

it('every table is under row-level security, with a policy for each granted command', async () => {
  await analytics.makePartitions(70);
  expect(await tablesWithoutPolicies(analytics.database.adminUrl, 'analytics')).toEqual([]);
});

it('a tenant sees its runs and sums and no others, and nothing where none is set', async () => {
  const [mine, theirs] = [newId(), newId()];
  const [own] = await analytics.makeOldRuns(mine, 1);
  await analytics.makeOldRuns(theirs, 1);
  for (const tenantId of [mine, theirs]) {
    await analytics.rows(`insert into analytics.settled_days values ($1, 'epoch', 'settled', 24)`, [
      tenantId,
    ]);
    await analytics.rows(
      `insert into analytics.settled_usage select tenant_id, 'user', 'epoch', null, null, null, null, null, null, null,
         null, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
       from analytics.settled_days where tenant_id = $1 and day = 'epoch'`,
      [tenantId],
    );
    await analytics.rows(`insert into analytics.usage_groups values ($1, '\\x01', 'Berlin')`, [tenantId]);
    await analytics.rows(
      `insert into analytics.grouped_usage (${groupedKey}, ${measures.join(', ')})
       select ${usageKey}, '\\x01', ${measures.join(', ')} from analytics.usage where tenant_id = $1`,
      [tenantId],
    );
  }
  const app = analytics.pool('analytics_app');
  const tables = ['traces', 'usage', 'usage_totals', 'usage_users', 'users', 'unpriced_models'];
  for (const table of [...tables, 'settled_days', 'settled_usage', 'grouped_usage', 'usage_groups']) {
    const rows = await withTenant(app, mine, async (client) =>
      client.query(`select distinct tenant_id from analytics.${table}`),
    );
    expect(rows.rows).toEqual([{ tenant_id: mine }]);
    await expect(app.query(`select tenant_id from analytics.${table}`)).rejects.toThrow('no tenant is set');
  }
  await expect(app.query('delete from analytics.traces where id = $1', [own])).rejects.toThrow(
    'permission denied',
  );
});

it('neither role may make, drop or read a partition by itself', async () => {
  const [partition] = await analytics.rows(
    `select relid::text as name from pg_partition_tree('analytics.traces') where isleaf`,
  );
  const name = String(partition?.['name']);
  for (const role of ['analytics_app', 'analytics_system']) {
    const pool = analytics.pool(role);
    await expect(pool.query(`select id from ${name}`)).rejects.toThrow('permission denied');
    await expect(pool.query(`drop table ${name}`)).rejects.toThrow('must be owner');
    await expect(pool.query('create table analytics.own (id uuid)')).rejects.toThrow('permission denied');
  }
  const app = analytics.pool('analytics_app');
  await expect(app.query('select analytics.drop_expired_partition()')).rejects.toThrow('permission denied');
  const system = analytics.pool('analytics_system');
  // Only what counts nothing any more.
  for (const table of ['usage', 'usage_totals', 'usage_users', 'grouped_usage'])
    expect((await system.query(`delete from analytics.${table}`)).rowCount).toBe(0);
  await expect(system.query('select payload from analytics.dead_letters')).rejects.toThrow(
    'permission denied',
  );
});
