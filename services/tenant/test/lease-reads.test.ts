import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool, type PoolClient } from '@gatehouse/pg/pool';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { limitLookups } from '../src/ground.ts';
import { findHeld } from '../src/limits/limit-store.ts';
import { leaseLocked } from '../src/limits/lease-store.ts';
import { Replica } from './replica.ts';
import { TenantServiceUnderTest } from './tenant-service.ts';

/** Leases read the rows of their own limits, however many others have, and by plans made for empty tables. */

let service: TenantServiceUnderTest;
let pool: Pool;
const log = createLogger('tenant', 'silent');
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  pool = createPool({
    url: service.database.url,
    role: 'tenant_system',
    max: 1,
    log,
    pipelined: true,
    settings: limitLookups,
  });
});
afterAll(async () => {
  await pool.end();
  await service.stop();
});

const counterId = '00000000-0000-8000-8000-000000000001';
const others = 5_000;

/** A policy with one counter. Returns an ask for its budget. */
async function setUp(tenantId: string) {
  const policyId = newId();
  await service.rows(
    `insert into tenant.policies (id, tenant_id, name, selection, limits, budget, alerts, enforce, enabled, counter_key,
       counts_since)
     values ($1, $2, 'p', '{}', '{}', '{"usd": "1", "period": "day"}', '{50}', true, true, '', '2020-01-01')`,
    [policyId, tenantId],
  );
  const counter = { policyId, value: '', userId: null, groups: [], apiKeyId: null };
  return {
    subjectId: counterId,
    resource: 'budget',
    windowStart: 0,
    returned: 0n,
    holding: 0n,
    counter,
  } as const;
}

/** Amounts that one other replica holds of the counters of other tenants. */
async function insertOthers(tenantId: string, policyId: string): Promise<void> {
  const other = newId();
  await service.rows('insert into tenant.limit_holders (id) values ($1)', [other]);
  await service.rows(
    `with made as (select gen_random_uuid() as id from generate_series(1, $4::integer)),
     held as (
       insert into tenant.limit_holds (holder_id, tenant_id, subject_id, resource, window_start, amount, sequence)
       select $3, gen_random_uuid(), id, 'budget', now(), 1, 1 from made
     ), limited as (
       insert into tenant.limit_uses (tenant_id, subject_id, resource) select $1, id, 'budget' from made
     )
     insert into tenant.policy_counters (tenant_id, id, policy_id, value, resource, window_start, removable_at)
     select $1, id, $2, '', 'budget', now(), 'infinity' from made`,
    [tenantId, policyId, other, others],
  );
}

async function expectFewReads(client: PoolClient, tables: readonly string[]): Promise<void> {
  const rows = await client.all<{ name: string; read: number }>(
    `select relname as name, (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
     where relname = any ($1::text[])`,
    [tables],
  );
  expect(rows).toHaveLength(tables.length);
  for (const { name, read } of rows) expect([name, read < 20]).toEqual([name, true]);
}

it('a lease reads no rows of others', async () => {
  const tenant = await service.makeTenant({ budget: { usd: '1', period: 'day' } });
  await service.rows('analyze tenant.limit_holds, tenant.limit_uses, tenant.policy_counters');
  const ask = await setUp(tenant.id);
  const { policyId } = ask.counter;
  const replica = new Replica(service);
  const counter = { subjectId: counterId, policyId, value: '' };
  for (let lease = 0; lease < 2; lease += 1)
    await replica.lease(tenant.id, [
      { resource: Resource.BUDGET, needs: [1n] },
      { ...counter, resource: Resource.BUDGET, needs: [1n] },
    ]);
  const { counter: _, ...amounts } = ask;
  const request = {
    asks: [{ ...amounts, subjectId: tenant.id }, ask],
    demands: [
      [
        { ask: 0, amount: 1n },
        { ask: 1, amount: 1n },
      ],
    ],
  };
  const client = await pool.connect();
  try {
    for (const sequence of [3n, 4n]) {
      await client.query('begin');
      const holder = { id: replica.id, sequence };
      const granted = await leaseLocked(client, tenant.id, { ...request, holder, full: null });
      expect(granted?.map((each) => (each?.lease.granted ?? 0n) > 0n)).toEqual([true, true]);
      await expectFewReads(client, ['limit_holds', 'limit_uses', 'policy_counters']);
      await client.query('commit');
      if (sequence === 3n) await insertOthers(tenant.id, policyId);
    }
  } finally {
    client.release();
  }
});

it('amounts held of limits are read by these, also where one replica holds some of all tenants', async () => {
  const tenant = await service.makeTenant();
  const { counter } = await setUp(tenant.id);
  await service.rows('delete from tenant.limit_holds');
  await service.rows('vacuum analyze tenant.limit_holds');
  await insertOthers(tenant.id, counter.policyId);
  const plain = createPool({ url: service.database.url, role: 'tenant_system', max: 1, log });
  const client = await plain.connect();
  try {
    await client.query('begin');
    const subjectIds = Array.from({ length: 20 }, newId);
    expect(await findHeld(client, tenant.id, { subjectIds, exceptHolder: newId() })).toEqual([]);
    await expectFewReads(client, ['limit_holds']);
    await client.query('commit');
  } finally {
    client.release();
    await plain.end();
  }
});
