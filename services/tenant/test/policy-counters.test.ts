import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { Resource, type Ask } from '@gatehouse/proto/tenant/v1/tenant';
import { CounterSystemStore } from '../src/limits/counter-system-store.ts';
import { Replica, settlementOf } from './replica.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

/** Counters of policies, leased beside the limits of tenant and key. */

let service: TenantServiceUnderTest;
let pool: Pool;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start({ settings: { DATABASE_POOL: '10' } });
  pool = createPool({
    url: service.database.url,
    role: 'tenant_system',
    max: 2,
    log: createLogger('test', 'silent'),
  });
});
afterAll(async () => {
  await pool.end();
  await service.stop();
});

interface PolicyFields {
  per?: string | null;
  limits?: object;
  budget?: { usd: string; period: string } | null;
  enforce?: boolean;
  tenants?: string[] | null;
}

/** Inserts a policy of the tenant, or of the owner for null. Returns its id. */
async function makePolicy(tenantId: string | null, fields: PolicyFields = {}): Promise<string> {
  const id = newId();
  const { per = 'user', limits = {}, budget = null, enforce = true, tenants = null } = fields;
  await service.rows(
    `insert into tenant.policies (id, tenant_id, tenants, name, selection, per, limits, budget, alerts, enforce, enabled,
       counter_key)
     values ($1, $2, $3, $4, '{}', $5, $6, $7, '{}', $8, true, '')`,
    [
      id,
      tenantId,
      tenants,
      `p-${id}`,
      per,
      JSON.stringify(limits),
      budget && JSON.stringify(budget),
      enforce,
    ],
  );
  return id;
}

const usd = '0.0000000006';
const daily = { budget: { usd, period: 'day' } };

/** An ask for a counter of a policy. Its id is of the value in this file alone. */
const ids = new Map<string, string>();
function counter(policyId: string, value: string, fields: Partial<Ask> = {}): Partial<Ask> {
  const name = `${policyId} ${value}`;
  const subjectId = ids.get(name) ?? newId();
  ids.set(name, subjectId);
  return { subjectId, policyId, value, resource: Resource.BUDGET, ...fields };
}

const rowsOf = (policyId: string) =>
  service.rows(
    `select value, user_id, resource, used::integer as used, window_end, removable_at::text as removable_at
     from tenant.policy_counters where policy_id = $1 order by value, resource, window_start`,
    [policyId],
  );

async function setUp(fields: PolicyFields = daily, tenantFields: { budget?: object } = {}) {
  const tenant = await service.makeTenant(tenantFields);
  return { tenant, policyId: await makePolicy(tenant.id, fields) };
}

const granted = async (replica: Replica, tenant: TestTenant, asks: Partial<Ask>[], needs: bigint[]) =>
  (await replica.leaseTogether(tenant.id, asks, [Object.fromEntries(needs.entries())])).map(
    (grant) => grant.granted,
  );

describe('a counter of a policy', () => {
  it('is one of each value, and is granted together with the limits of the tenant', async () => {
    const { tenant, policyId } = await setUp(daily, { budget: { usd: '0.00000000035', period: 'day' } });
    const ofTenant = { subjectId: tenant.id, resource: Resource.BUDGET };
    const [one, other] = [new Replica(service), new Replica(service)];
    expect(await granted(one, tenant, [counter(policyId, 'ada'), ofTenant], [200n, 200n])).toEqual([
      200n,
      200n,
    ]);
    // The tenant has 150 left, and the counter of the user nothing taken of it.
    expect(await granted(other, tenant, [counter(policyId, 'bob'), ofTenant], [200n, 200n])).toEqual([
      0n,
      0n,
    ]);
    expect(await granted(other, tenant, [counter(policyId, 'bob'), ofTenant], [150n, 150n])).toEqual([
      150n,
      150n,
    ]);
    const grants = await new Replica(service).leaseTogether(
      tenant.id,
      [counter(policyId, 'ada'), counter(policyId, 'bob')],
      [],
    );
    expect(grants.map(({ limit, remaining }) => [limit, remaining])).toEqual([
      [600n, 400n],
      [600n, 450n],
    ]);
  });

  it('is never leased beyond its limit by replicas at once, and opened once', async () => {
    const { tenant, policyId } = await setUp({
      ...daily,
      limits: { requests_per_minute: 50, max_concurrent: 7 },
    });
    const asks = (value: string) => [
      counter(policyId, value),
      counter(policyId, value, { resource: Resource.REQUESTS }),
      counter(policyId, value, { resource: Resource.CONCURRENCY }),
    ];
    const grants = await Promise.all(
      Array.from({ length: 12 }, () => granted(new Replica(service), tenant, asks('ada'), [90n, 1n, 1n])),
    );
    const sums = [0, 1, 2].map((index) => grants.reduce((sum, each) => sum + (each[index] ?? 0n), 0n));
    // Six times 90 fit.
    expect(sums).toEqual([540n, 6n, 6n]);
    expect(await rowsOf(policyId)).toHaveLength(3);
    expect(
      await service.rows('select distinct used::integer from tenant.limit_uses where subject_id = $1', [
        tenant.id,
      ]),
    ).toEqual([{ used: 1 }]);
  });

  it('is charged in the window of the reservation, also an ended one, and carries nothing over', async () => {
    const { tenant, policyId } = await setUp();
    const replica = new Replica(service);
    const ask = counter(policyId, 'ada');
    const [grant] = await replica.leaseTogether(tenant.id, [ask], [{ 0: 500n }]);
    if (grant === undefined) throw new Error('no grant');
    const charge = (costPico: bigint) => ({
      ...settlementOf(tenant, replica, grant, costPico),
      charges: [{ subjectId: ask.subjectId ?? '', windowStart: grant.windowStart }],
    });
    const settlement = charge(300n);
    await replica.settle([settlement]);
    await replica.settle([settlement]);
    expect(await new Replica(service).leaseOne(tenant.id, ask)).toMatchObject({
      spent: 300n,
      remaining: 100n,
    });
    // The day ends.
    const over = 'update tenant.policy_counters set window_end = now() where policy_id = $1';
    await service.rows(over, [policyId]);
    await replica.settle([charge(900n)]);
    const next = await replica.leaseOne(tenant.id, { ...ask, needs: [601n, 600n] });
    expect(next).toMatchObject({ granted: 600n, spent: 0n });
    expect(next.windowStart).toBeGreaterThan(grant.windowStart);
    await replica.settle([charge(100n)]);
    expect((await rowsOf(policyId)).map(({ used }) => used)).toEqual([1_300, 0]);
  });

  it('of another tenant, or of a policy that is not there, is no limit', async () => {
    const { tenant, policyId } = await setUp();
    const other = await service.makeTenant();
    const replica = new Replica(service);
    expect(await replica.leaseOne(other.id, { ...counter(policyId, 'ada'), needs: [1n] })).toEqual(
      await replica.leaseOne(tenant.id, { ...counter(newId(), 'ada'), needs: [1n] }),
    );
    expect(await rowsOf(policyId)).toEqual([]);
  });

  it('of the owner counts each tenant that it names', async () => {
    const [one, other] = [await service.makeTenant(), await service.makeTenant()];
    const policyId = await makePolicy(null, { ...daily, per: null, tenants: [one.id] });
    const ask = (name: string) => ({ ...counter(policyId, name), value: '' });
    expect((await new Replica(service).leaseOne(one.id, { ...ask('one'), needs: [5n] })).limit).toBe(600n);
    expect(
      (await new Replica(service).leaseOne(other.id, { ...ask('other'), needs: [5n] })).limit,
    ).toBeUndefined();
    await service.rows('delete from tenant.policies where id = $1', [policyId]);
  });

  it('is not found by another tenant, whatever id it names', async () => {
    const [one, other] = [await service.makeTenant(), await service.makeTenant()];
    const policyId = await makePolicy(null, { ...daily, per: null, tenants: [one.id, other.id] });
    const ask = { ...counter(policyId, ''), needs: [400n] };
    const replica = new Replica(service);
    const { windowStart } = await replica.leaseOne(one.id, ask);
    await expect(new Replica(service).leaseOne(other.id, ask)).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    const more = { ...ask, windowStart, holding: 400n, needs: [200n] };
    expect(await replica.leaseOne(one.id, more)).toMatchObject({ granted: 200n });
    await service.rows('delete from tenant.policies where id = $1', [policyId]);
  });

  it('follows overrides of its value and of the groups of its user', async () => {
    const { tenant, policyId } = await setUp();
    const override = (value: string, amount: string | null, until: string | null = null) =>
      service.rows(
        `insert into tenant.policy_overrides (policy_id, tenant_id, value, amounts, until) values ($1, $2, $3, $4, $5)`,
        [policyId, tenant.id, value, JSON.stringify({ budget_usd: amount, limits: null }), until],
      );
    await override('ada', '0.000000000010');
    await override('bob', '0.000000000020', '2020-01-01');
    await override('group:staff', '0.000000000030');
    await override('group:board', null);
    const groupsOfAda = { as: tenant.admin, body: { groups: ['staff', 'board', 'guests', 'research'] } };
    await service.call('PUT', '/v1/users/ada', groupsOfAda);
    const rows = await service.rows('select name, id from tenant.groups where tenant_id = $1', [tenant.id]);
    const idOf = (name: string) => String(rows.find((row) => row['name'] === name)?.['id']);
    const limit = async (value: string, groups: string[] = []) => {
      const ask = { ...counter(policyId, value), groups: groups.map(idOf) };
      return (await new Replica(service).leaseOne(tenant.id, ask)).limit;
    };
    expect(await limit('ada', ['staff'])).toBe(10n);
    expect(await limit('bob')).toBe(600n);
    expect(await limit('carol', ['staff', 'guests'])).toBe(30n);
    expect(await limit('dan', ['staff', 'board'])).toBeUndefined();
    await service.rows(`update tenant.policies set per = 'group' where id = $1`, [policyId]);
    await override('research', '0.000000000040');
    expect(await limit(idOf('research'))).toBe(40n);
  });

  it('that enforces nothing is counted without a limit', async () => {
    const { tenant, policyId } = await setUp({ ...daily, enforce: false });
    const grant = await new Replica(service).leaseOne(tenant.id, {
      ...counter(policyId, 'ada'),
      needs: [10n ** 9n],
    });
    expect([grant.limit, grant.granted]).toEqual([undefined, 0n]);
    expect(grant.windowStart).toBeGreaterThan(0n);
  });

  it('begins again with a changed selection', async () => {
    const { tenant, policyId } = await setUp();
    const replica = new Replica(service);
    await replica.leaseOne(tenant.id, { ...counter(policyId, 'ada'), needs: [500n] });
    await service.rows('update tenant.policies set counts_since = clock_timestamp() where id = $1', [
      policyId,
    ]);
    expect(await replica.leaseOne(tenant.id, { ...counter(policyId, 'ada'), needs: [600n] })).toMatchObject({
      granted: 600n,
    });
  });

  it('begins a new window by a reset of its value or of all, and calls under way stay in the old one', async () => {
    const { tenant, policyId } = await setUp({
      ...{ budget: { usd, period: 'total' }, limits: { requests_per_minute: 1 } },
    });
    const reset = async (body: object) => {
      const path = `/v1/policies/${policyId}/reset`;
      expect((await service.call('POST', path, { as: tenant.admin, body })).status).toBe(200);
    };
    const [ada, bob] = [counter(policyId, 'ada'), counter(policyId, 'bob')];
    const asks = [ada, bob, counter(policyId, 'ada', { resource: Resource.REQUESTS })];
    const replica = new Replica(service);
    const [first] = await replica.leaseTogether(tenant.id, asks, [{ 0: 500n, 1: 500n, 2: 1n }]);
    if (first === undefined) throw new Error('no grant');
    await reset({ value: 'ada' });
    expect(await granted(new Replica(service), tenant, asks, [600n, 100n, 1n])).toEqual([600n, 100n, 1n]);
    const charges = [{ subjectId: ada.subjectId ?? '', windowStart: first.windowStart }];
    await replica.settle([{ ...settlementOf(tenant, replica, first, 400n), charges }]);
    const budgets = async () =>
      service.rows(
        `select value, used::integer as used, removable_at = 'infinity' as stays from tenant.policy_counters
         where policy_id = $1 and resource = 'budget' order by value, window_start`,
        [policyId],
      );
    const [old, next] = [
      { value: 'ada', used: 400, stays: false },
      { value: 'ada', used: 0, stays: true },
    ];
    expect(await budgets()).toEqual([old, next, { value: 'bob', used: 0, stays: true }]);
    await reset({});
    expect(await granted(new Replica(service), tenant, [ada, bob], [600n, 600n])).toEqual([600n, 600n]);
    expect((await budgets()).map(({ stays }) => stays)).toEqual([false, false, true, false, true]);
  });

  it.each([
    ['a policy id that is no UUID', { policyId: 'x' }],
    ['a long value', { value: 'x'.repeat(257) }],
    ['a key id that is no UUID', { apiKeyId: 'x' }],
  ])('with %s is refused', async (_name, fields) => {
    const { tenant, policyId } = await setUp();
    const ask = { ...counter(policyId, 'ada'), ...fields };
    await expect(new Replica(service).lease(tenant.id, [ask])).rejects.toMatchObject({
      code: 'invalid_value',
    });
  });
});

describe('counters of a tenant', () => {
  it('are bounded, and so are those that one key opens', async () => {
    const { tenant, policyId } = await setUp();
    const [key, other] = [newId(), newId()];
    const open = (value: string, apiKeyId: string) =>
      new Replica(service).leaseOne(tenant.id, { ...counter(policyId, value), apiKeyId, needs: [1n] });
    const counts = (subjectId: string, counters: number) =>
      service.rows(
        `insert into tenant.limit_uses (tenant_id, subject_id, resource, used) values ($1, $2, 'counters', $3)
         on conflict (subject_id, resource) do update set used = excluded.used`,
        [tenant.id, subjectId, counters],
      );
    await counts(key, 99_999);
    expect(await open('ada', key)).toMatchObject({ granted: 1n });
    expect(await open('bob', key)).toMatchObject({ granted: 0n, limit: 0n, tooManyCounters: true });
    // Those that exist go on.
    expect(await open('ada', key)).toMatchObject({ granted: 1n });
    expect(await open('bob', other)).toMatchObject({ granted: 1n });
    await counts(tenant.id, 1_000_000);
    expect(await open('carol', other)).toMatchObject({ tooManyCounters: true });
    expect((await rowsOf(policyId)).map(({ value }) => value)).toEqual(['ada', 'bob']);
  });

  it('are deleted when they are over, with their holds and in the count', async () => {
    const { tenant, policyId } = await setUp({ ...daily, limits: { max_concurrent: 3 } });
    const key = newId();
    for (const value of ['ada', 'bob'])
      await granted(
        new Replica(service),
        tenant,
        [
          counter(policyId, value, { apiKeyId: key }),
          // Its rows have the key that opened it, whichever keys use it.
          counter(policyId, value, { resource: Resource.CONCURRENCY, apiKeyId: newId() }),
        ],
        [1n, 1n],
      );
    await service.rows(
      `update tenant.policy_counters set removable_at = now() - interval '1 hour'
       where policy_id = $1 and (value = 'ada' or resource = 'budget')`,
      [policyId],
    );
    const store = new CounterSystemStore(pool);
    expect(await store.deleteEnded()).toBe(false);
    expect(await rowsOf(policyId)).toMatchObject([{ value: 'bob', resource: 'concurrency' }]);
    const used = () =>
      service.rows(
        `select used::integer from tenant.limit_uses where subject_id = any ($1::uuid[]) and resource = 'counters'`,
        [[tenant.id, key]],
      );
    expect(await used()).toEqual([{ used: 1 }, { used: 1 }]);
    const holds = await service.rows('select resource from tenant.limit_holds where tenant_id = $1', [
      tenant.id,
    ]);
    expect(holds).toHaveLength(2);
    // The policy is deleted.
    expect(await store.endDeleted()).toBe(false);
    expect(await store.deleteEnded()).toBe(false);
    expect(await rowsOf(policyId)).toHaveLength(1);
    await service.rows('delete from tenant.policies where id = $1', [policyId]);
    await store.endDeleted();
    await store.deleteEnded();
    expect(await rowsOf(policyId)).toEqual([]);
    expect(await used()).toEqual([{ used: 0 }, { used: 0 }]);
  });

  it('of a session stay for a day after the last run', async () => {
    const { tenant, policyId } = await setUp({ per: 'session', budget: { usd, period: 'total' } });
    const use = () =>
      new Replica(service).leaseOne(tenant.id, { ...counter(policyId, 'ada/1'), needs: [1n] });
    const lifetime = async () => {
      const [found] = await service.rows(
        `select extract(epoch from removable_at - now())::integer as seconds from tenant.policy_counters
         where policy_id = $1`,
        [policyId],
      );
      return Number(found?.['seconds']);
    };
    await use();
    const day = 86_400;
    expect(await lifetime()).toBeGreaterThan(day);
    await service.rows(
      `update tenant.policy_counters set removable_at = now() + interval '1 hour' where policy_id = $1`,
      [policyId],
    );
    await use();
    expect(await lifetime()).toBeGreaterThan(day);
  });

  it('keep counting without the name of a user whose data are deleted', async () => {
    const { tenant, policyId } = await setUp();
    const ask = { ...counter(policyId, 'ada'), userId: 'ada', needs: [500n] };
    await new Replica(service).leaseOne(tenant.id, ask);
    const { status } = await service.call('DELETE', '/v1/users/ada/data', { as: tenant.admin });
    expect(status).toBe(202);
    expect(await rowsOf(policyId)).toMatchObject([{ value: ask.subjectId, user_id: null }]);
    expect(await new Replica(service).leaseOne(tenant.id, ask)).toMatchObject({
      granted: 0n,
      remaining: 100n,
    });
  });
});
