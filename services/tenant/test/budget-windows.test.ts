import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { picoOf, usdOf } from '@gatehouse/kit/money';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { createPool } from '@gatehouse/pg/pool';
import { Resource, type Grant } from '@gatehouse/proto/tenant/v1/tenant';
import { oldSpend } from '../src/limits/budget-spend-store.ts';
import { limitsOf, Replica, settlementOf } from './replica.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';
import { zoneAtHour } from './zone-at-hour.ts';

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterAll(() => service.stop());

const usd = usdOf(1_000n);
const money = (needs: bigint[]) => ({ resource: Resource.BUDGET, needs });

async function change(tenant: TestTenant, body: Record<string, unknown>): Promise<void> {
  const { status } = await service.call('PATCH', `/internal/v1/owner/tenants/${tenant.id}`, { body });
  expect(status).toBe(200);
}

/** The used part of the budget by `GET /v1/limits`, in pico-USD. */
async function used(tenant: TestTenant): Promise<bigint> {
  const [limit] = await limitsOf(service, tenant);
  return picoOf(String(limit?.['used']));
}

/** Leases and settles, and moves what was settled back in time. */
async function spend(tenant: TestTenant, costPico: bigint, ago = '0'): Promise<Grant> {
  const replica = new Replica(service);
  const grant = await replica.leaseOne(tenant.id, money([costPico]));
  await replica.settle([settlementOf(tenant, replica, grant, costPico)], [replica.id]);
  if (ago !== '0') {
    await service.rows(
      `update tenant.budget_spend set bucket = bucket - $2::interval where subject_id = $1
       and bucket > now() - interval '30 minutes'`,
      [tenant.id, ago],
    );
  }
  return grant;
}

/** Makes it the day after, for the row of the budget. */
async function passMidnight(tenant: TestTenant): Promise<void> {
  await service.rows(
    `update tenant.limit_uses set window_start = window_start - interval '1 day',
       starts_at = starts_at - interval '1 day', ends_at = ends_at - interval '1 day' where subject_id = $1`,
    [tenant.id],
  );
}

describe('a refund', () => {
  it('lowers what is used of the window that the estimate was charged to, once, and no hold', async () => {
    const tenant = await service.makeTenant({ budget: { usd, period: 'day' } });
    const [dead, other] = [new Replica(service), new Replica(service)];
    const grant = await dead.leaseOne(tenant.id, money([400n]));
    await dead.settle([settlementOf(tenant, dead, grant, 300n)]);
    const refund = settlementOf(tenant, dead, grant, -280n);
    await other.settle([refund]);
    await other.settle([refund]);
    expect(await used(tenant)).toBe(20n);
    // 20 are spent, and 100 of what the dead one reserved are held until it is released.
    expect(await other.leaseOne(tenant.id, money([880n, 1n]))).toMatchObject({ granted: 880n });
  });

  it('counts in the day of the estimate when it comes after midnight', async () => {
    const tenant = await service.makeTenant({ timezone: zoneAtHour(2), budget: { usd, period: 'day' } });
    const replica = new Replica(service);
    const grant = await replica.leaseOne(tenant.id, money([400n]));
    await replica.settle([settlementOf(tenant, replica, grant, 300n)], [replica.id]);
    await passMidnight(tenant);
    await service.rows(
      `update tenant.budget_spend set bucket = bucket - interval '1 day' where subject_id = $1`,
      [tenant.id],
    );
    await spend(tenant, 50n);
    const before = { ...grant, windowStart: grant.windowStart - 86_400_000n };
    await replica.settle([settlementOf(tenant, replica, before, -280n)]);
    expect(await used(tenant)).toBe(50n);
    const [sum] = await service.rows(
      'select sum(cost)::integer as cost from tenant.budget_spend where subject_id = $1',
      [tenant.id],
    );
    expect(sum).toEqual({ cost: 70 });
  });

  it('counts when it comes before the estimate', async () => {
    const tenant = await service.makeTenant({ budget: { usd, period: 'day' } });
    const replica = new Replica(service);
    const grant = await replica.leaseOne(tenant.id, money([400n]));
    for (const [costPico, expected] of [
      [-280n, 0n],
      [-50n, 0n],
      [60n, 0n],
      [300n, 30n],
      [5n, 35n],
    ] as const) {
      await replica.settle([settlementOf(tenant, replica, grant, costPico)], [replica.id]);
      expect(await used(tenant)).toBe(expected);
    }
  });

  it('leaves no budget below zero', async () => {
    const tenant = await service.makeTenant({ budget: { usd, period: 'day' } });
    const replica = new Replica(service);
    const grant = await replica.leaseOne(tenant.id, money([400n]));
    await replica.settle([settlementOf(tenant, replica, grant, -5n)], [replica.id]);
    expect(await used(tenant)).toBe(0n);
    await change(tenant, { budget: { usd, period: 'month' } });
    expect(await used(tenant)).toBe(0n);
  });
});

describe('a budget whose window is recalculated', () => {
  it.each([
    ['read', () => Promise.resolve()],
    [
      'leased',
      async (tenant: TestTenant) => {
        await new Replica(service).lease(tenant.id, [money([])]);
      },
    ],
  ])(
    'counts what was spent in the new day of another time zone, both ways, when it is %s',
    async (_, after) => {
      const tenant = await service.makeTenant({ timezone: zoneAtHour(20), budget: { usd, period: 'day' } });
      await spend(tenant, 300n, '5 hours');
      await spend(tenant, 20n);
      expect(await used(tenant)).toBe(320n);
      for (const [hour, expected] of [
        [2, 20n],
        [20, 320n],
        [2, 20n],
        [7, 320n],
      ] as const) {
        await change(tenant, { timezone: zoneAtHour(hour) });
        await after(tenant);
        expect(await used(tenant)).toBe(expected);
      }
      expect(await new Replica(service).leaseOne(tenant.id, money([681n, 680n]))).toMatchObject({
        granted: 680n,
        remaining: 0n,
      });
    },
  );

  it('counts what was spent in the month, and of it what was spent in the day', async () => {
    // One of them is not at the first day of its month.
    const timezone = ['Pacific/Niue', 'Pacific/Kiritimati'].find(
      (timeZone) => new Intl.DateTimeFormat('en', { timeZone, day: 'numeric' }).format() !== '1',
    );
    const tenant = await service.makeTenant({ timezone, budget: { usd, period: 'day' } });
    await spend(tenant, 20n);
    await service.rows(
      `insert into tenant.budget_spend (tenant_id, subject_id, bucket, cost)
       values ($1, $1, date_trunc('month', now(), $2), 300)`,
      [tenant.id, timezone],
    );
    await change(tenant, { budget: { usd, period: 'month' } });
    expect(await used(tenant)).toBe(320n);
    expect(await new Replica(service).leaseOne(tenant.id, money([681n]))).toMatchObject({ granted: 0n });
    await change(tenant, { budget: { usd, period: 'day' } });
    await new Replica(service).lease(tenant.id, [money([])]);
    expect(await used(tenant)).toBe(20n);
    await change(tenant, { budget: null });
    expect(await limitsOf(service, tenant)).toEqual([]);
    await change(tenant, { budget: { usd, period: 'month' } });
    expect(await used(tenant)).toBe(320n);
  });

  it('counts what replicas hold, and charges the runs that they hold it for', async () => {
    const tenant = await service.makeTenant({ timezone: zoneAtHour(2), budget: { usd, period: 'day' } });
    const [first, second] = [new Replica(service), new Replica(service)];
    const grant = await first.leaseOne(tenant.id, money([400n]));
    const held = grant.granted;
    for (const hour of [20, 2]) {
      await change(tenant, { timezone: zoneAtHour(hour) });
      expect(await second.leaseOne(tenant.id, money([1_001n - held]))).toMatchObject({ granted: 0n });
      // The name of the window stays, so the replica reports what it holds as it did.
      const again = await first.leaseOne(tenant.id, {
        ...money([]),
        windowStart: grant.windowStart,
        holding: held,
      });
      expect(again).toMatchObject({ windowStart: grant.windowStart, remaining: 1_000n - held });
    }
    await change(tenant, { budget: { usd, period: 'month' } });
    await first.settle([settlementOf(tenant, first, grant, 350n)], [first.id]);
    expect(await used(tenant)).toBe(350n);
    await second.lease(tenant.id, [money([])]);
    expect(await used(tenant)).toBe(350n);
  });

  it('charges a run that was reserved before midnight to the day before, wherever that is cut later', async () => {
    const tenant = await service.makeTenant({ timezone: zoneAtHour(2), budget: { usd, period: 'day' } });
    const replica = new Replica(service);
    const { windowStart: today } = await replica.leaseOne(tenant.id, money([100n]));
    await passMidnight(tenant);
    expect(await replica.leaseOne(tenant.id, money([1n]))).toMatchObject({ windowStart: today });
    const yesterday = { windowStart: today - 86_400_000n } as Grant;
    await replica.settle([settlementOf(tenant, replica, yesterday, 70n)], [replica.id]);
    expect(await used(tenant)).toBe(0n);
    await change(tenant, { timezone: zoneAtHour(20) });
    expect(await used(tenant)).toBe(70n);
    // It is a run of the day before, also when it settles while that day's window is cut into this one.
    await new Replica(service).lease(tenant.id, [money([])]);
    await replica.settle([settlementOf(tenant, replica, yesterday, 5n)]);
    expect(await used(tenant)).toBe(75n);
    await change(tenant, { timezone: zoneAtHour(2) });
    expect(await used(tenant)).toBe(0n);
  });

  it('charges a run that settles after midnight, before anything is leased, to the day before', async () => {
    const tenant = await service.makeTenant({ timezone: zoneAtHour(2), budget: { usd, period: 'day' } });
    const replica = new Replica(service);
    const { windowStart: today } = await replica.leaseOne(tenant.id, money([100n]));
    await passMidnight(tenant);
    const yesterday = { windowStart: today - 86_400_000n } as Grant;
    await replica.settle([settlementOf(tenant, replica, yesterday, 70n)], [replica.id]);
    expect(await used(tenant)).toBe(0n);
    await new Replica(service).lease(tenant.id, [money([])]);
    expect(await used(tenant)).toBe(0n);
  });

  it('records a threshold once in each window, also in one that is counted again', async () => {
    const tenant = await service.makeTenant({ timezone: zoneAtHour(2), budget: { usd, period: 'day' } });
    const published = async () =>
      (
        await service.rows<{ percent: number }>(
          `select (after ->> 'percent')::integer as percent from tenant.audit_log
           where action = 'budget.threshold_reached' and tenant_id = $1 order by at, percent`,
          [tenant.id],
        )
      ).map(({ percent }) => percent);
    await spend(tenant, 500n);
    expect(await published()).toEqual([50]);
    const [limit] = await limitsOf(service, tenant);
    // The same window under another name of its zone, with another amount, and back from another window.
    await change(tenant, { budget: { usd: usdOf(990n), period: 'day' } });
    await spend(tenant, 1n);
    expect(await published()).toEqual([50]);
    await change(tenant, { timezone: zoneAtHour(20) });
    await spend(tenant, 1n);
    expect(await published()).toEqual([50, 50]);
    await change(tenant, { timezone: zoneAtHour(2) });
    await spend(tenant, 1n);
    expect((await limitsOf(service, tenant))[0]).toMatchObject({ resets_at: limit?.['resets_at'] });
    expect(await published()).toEqual([50, 50]);
    await spend(tenant, 300n);
    expect(await published()).toEqual([50, 50, 80]);
  });

  it('is moved by no order of zones that an admin sets, nor is that of a key, until the owner names one', async () => {
    const tenant = await service.makeTenant({ timezone: zoneAtHour(20), budget: { usd, period: 'day' } });
    // The lower one, which is then the one that is shown.
    const key = await service.makeKey(tenant.admin, { budget: { usd: usdOf(900n), period: 'day' } });
    const asKey = { ...tenant, admin: { ...tenant.admin, keyId: key.id } };
    await spend(tenant, 300n, '5 hours');
    await spend(tenant, 20n);
    const replica = new Replica(service);
    const grant = await replica.leaseOne(tenant.id, { ...money([400n]), subjectId: key.id });
    const charges = [{ subjectId: key.id, windowStart: grant.windowStart }];
    await replica.settle([{ ...settlementOf(tenant, replica, grant, 400n), charges }], [replica.id]);
    await service.rows(
      `update tenant.budget_spend set bucket = bucket - interval '5 hours' where subject_id = $1`,
      [key.id],
    );
    const [before] = await limitsOf(service, tenant);
    for (const hour of [2, 0, 23, 7, 1, 20, 3]) {
      const body = { timezone: zoneAtHour(hour) };
      const { status } = await service.call('PATCH', '/v1/tenant/settings', { as: tenant.admin, body });
      expect(status).toBe(200);
      await new Replica(service).lease(tenant.id, [money([]), { ...money([]), subjectId: key.id }]);
      expect((await limitsOf(service, tenant))[0]).toEqual(before);
      expect(await used(asKey)).toBe(400n);
    }
    // A change of other settings doesn't take the admin's zone over.
    await change(tenant, { name: 'Another name' });
    expect(await used(tenant)).toBe(320n);
    await change(tenant, { timezone: zoneAtHour(3) });
    expect(await used(tenant)).toBe(20n);
    expect(await used(asKey)).toBe(0n);
  });

  it('of a key follows the time zone of its tenant', async () => {
    const tenant = await service.makeTenant({ timezone: zoneAtHour(20) });
    const key = await service.makeKey(tenant.admin, { budget: { usd, period: 'day' } });
    const asKey = { ...tenant, admin: { ...tenant.admin, keyId: key.id } };
    const replica = new Replica(service);
    const grant = await replica.leaseOne(tenant.id, { ...money([300n]), subjectId: key.id });
    const charges = [{ subjectId: key.id, windowStart: grant.windowStart }];
    const settlement = { ...settlementOf(tenant, replica, grant, 300n), charges };
    await replica.settle([settlement], [replica.id]);
    await service.rows(
      `update tenant.budget_spend set bucket = bucket - interval '5 hours' where subject_id = $1`,
      [key.id],
    );
    await change(tenant, { timezone: zoneAtHour(2) });
    await new Replica(service).lease(tenant.id, [{ ...money([]), subjectId: key.id }]);
    expect(await used(asKey)).toBe(0n);
    await change(tenant, { timezone: zoneAtHour(20) });
    expect(await used(asKey)).toBe(300n);
  });
});

it('a budget that only the release before has counted goes on where it was', async () => {
  const tenant = await service.makeTenant({ budget: { usd, period: 'day' } });
  await spend(tenant, 300n);
  await service.rows('update tenant.limit_uses set starts_at = null, ends_at = null where subject_id = $1', [
    tenant.id,
  ]);
  expect(await used(tenant)).toBe(300n);
  expect(await new Replica(service).leaseOne(tenant.id, money([700n]))).toMatchObject({ granted: 700n });
});

it('forgets what was spent 35 days ago, batch by batch', async () => {
  const { id } = await service.makeTenant();
  for (const days of [37, 36, 34])
    await service.rows(
      `insert into tenant.budget_spend (tenant_id, subject_id, bucket, cost)
       values ($1, $1, now() - $2 * interval '1 day', 1)`,
      [id, days],
    );
  const log = createLogger('test', 'silent');
  const pool = createPool({ url: service.database.url, role: 'tenant_system', max: 1, log });
  const left = async () =>
    (
      await service.rows<{ count: number }>(
        'select count(*)::integer as count from tenant.budget_spend where subject_id = $1',
        [id],
      )
    )[0]?.count;
  await deleteOldRows(pool, oldSpend);
  expect(await left()).toBe(1);
  await pool.end();
});

it('charges nothing to another tenant’s budget', async () => {
  const [mine, theirs] = [
    await service.makeTenant({ budget: { usd, period: 'day' } }),
    await service.makeTenant({ budget: { usd, period: 'day' } }),
  ];
  const replica = new Replica(service);
  const grant = await replica.leaseOne(theirs.id, money([1n]));
  const charges = [{ subjectId: theirs.id, windowStart: grant.windowStart }];
  const id = newId();
  await replica.settle(
    [{ id, tenantId: mine.id, holderId: replica.id, charges, costPico: 5n }],
    [replica.id],
  );
  expect(await used(theirs)).toBe(0n);
});
