import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { query } from '@gatehouse/test/query';
import { eventually } from '@gatehouse/test/eventually';
import { Replica } from './replica.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

/** Rows of counters are locked in the order of their ids: leases, settlements and deletions never wait for each other. */

let service: TenantServiceUnderTest;
let tenant: TestTenant;
let policyId: string;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterAll(() => service.stop());

const low = '00000000-0000-8000-8000-000000000001';
const high = 'ffffffff-ffff-8fff-8fff-fffffffffff1';

/** Windows of the last hour, and of the one before, of two counters of a user: the higher id is stored first. */
async function setUp(): Promise<void> {
  tenant = await service.makeTenant();
  policyId = newId();
  await service.rows('delete from tenant.policy_counters');
  await service.rows(
    `insert into tenant.policies (id, tenant_id, name, selection, per, limits, budget, alerts, enforce, enabled,
       counter_key, counts_since)
     values ($1, $2, 'p', '{}', 'user', '{}', '{"usd": "0.000000001", "period": "hour"}', '{50}', true, true, '',
       '2020-01-01')`,
    [policyId, tenant.id],
  );
  await service.rows(
    `insert into tenant.policy_counters
       (tenant_id, id, policy_id, value, user_id, resource, window_start, window_end, used, removable_at)
     select $1, c.id, $2, c.id::text, 'ada', 'budget', w.start, w.start + interval '1 hour', 600, now() + interval '1 day'
     from unnest($3::uuid[]) with ordinality as c (id, place),
       (values (now() - interval '2 hours'), (now() - interval '1 minute')) as w (start)
     order by c.place`,
    [tenant.id, policyId, [high, low]],
  );
}

/** Resolves once one statement waits for a lock of a row of a table. */
function waitsFor(table: string): Promise<void> {
  return eventually(async () => {
    const waiting = await query(
      service.database.adminUrl,
      `select from pg_stat_activity where wait_event_type = 'Lock' and query ~ '${table}' and datname = current_database()`,
    );
    expect(waiting).toHaveLength(1);
  });
}

/** Whether other statements may lock the counter with the higher id while `work` waits for the newest row of the lower. */
async function leavesOthers(work: () => Promise<unknown>): Promise<void> {
  await service.rows('begin');
  await service.rows('select from tenant.policy_counters where id = $1 and window_end > now() for update', [
    low,
  ]);
  const done = work();
  try {
    await waitsFor('policy_counters');
    await service.rows('select from tenant.policy_counters where id = $1 for update nowait', [high]);
  } finally {
    await service.rows('rollback');
    await done;
  }
}

it('a deletion of a user waits without the locks of later counters', async () => {
  await setUp();
  await leavesOthers(async () => {
    const { status } = await service.call('DELETE', '/v1/users/ada/data', { as: tenant.admin });
    expect(status).toBe(202);
  });
  const rows = await service.rows('select value, user_id from tenant.policy_counters order by id');
  expect(rows).toEqual([low, low, high, high].map((value) => ({ value, user_id: null })));
});

it('a settlement waits without the locks of later counters, also for windows that it does not charge', async () => {
  await setUp();
  const replica = new Replica(service);
  const [old] = await service.rows<{ start: string }>(
    `select (extract(epoch from min(window_start)) * 1000000)::bigint::text as start from tenant.policy_counters`,
  );
  await service.rows(
    `update tenant.policy_counters set window_start = date_trunc('milliseconds', window_start)`,
  );
  const windowStart = BigInt(old?.start ?? '0') / 1_000n;
  const settlement = {
    ...{ id: newId(), tenantId: tenant.id, holderId: replica.id, costPico: 100n },
    charges: [low, high].map((subjectId) => ({ subjectId, windowStart })),
  };
  // It gives up after a second.
  await leavesOthers(() => replica.settlePartially([settlement]));
  await replica.settlePartially([settlement]);
  const rows = await service.rows<{ used: number }>(
    'select used::integer as used from tenant.policy_counters order by id, window_start',
  );
  expect(rows.map(({ used }) => used)).toEqual([700, 600, 700, 600]);
});

it('a lease that opens a window locks limits before counters, as a settlement does', async () => {
  await setUp();
  await service.rows(
    `update tenant.policy_counters set window_start = window_start - interval '2 hours',
       window_end = window_end - interval '2 hours'`,
  );
  await service.rows(
    `insert into tenant.limit_uses (tenant_id, subject_id, resource)
     select $1, $1, unnest('{budget, counters}'::text[])`,
    [tenant.id],
  );
  const lock = (resource: string) =>
    `select from tenant.limit_uses where tenant_id = '${tenant.id}' and resource = '${resource}' for update nowait`;
  await service.rows('begin');
  await service.rows(lock('counters'));
  const leased = new Replica(service).lease(tenant.id, [
    { resource: Resource.BUDGET, needs: [1n] },
    { subjectId: high, policyId, value: high, resource: Resource.BUDGET, needs: [1n] },
  ]);
  await waitsFor('limit_uses');
  await expect(query(service.database.adminUrl, lock('budget'))).rejects.toThrow('could not obtain lock');
  await service.rows('rollback');
  await leased;
});
