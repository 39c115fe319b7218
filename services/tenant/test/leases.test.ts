import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { createPool } from '@gatehouse/pg/pool';
import { Resource, type Settlement } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { openPool } from '@gatehouse/test/query';
import { LimitSystemStore, oldSettlements } from '../src/limits/limit-system-store.ts';
import { limitsOf, Replica, settlementOf } from './replica.ts';
import { TenantServiceUnderTest } from './tenant-service.ts';

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start({ settings: { DATABASE_POOL: '10' } });
});
afterAll(() => service.stop());

const ones = (count: number): bigint[] => Array<bigint>(count).fill(1n);

describe('leases of a tenant that take long', () => {
  it('leave connections for those of others', async () => {
    const limits = { requests_per_minute: 100 };
    const [slow, other] = [await service.makeTenant({ limits }), await service.makeTenant({ limits })];
    await new Replica(service).leaseOne(slow.id, { needs: ones(1) });
    const admin = openPool(service.database.adminUrl);
    const client = await admin.connect();
    const waiting = async (): Promise<number> => {
      const { rows } = await admin.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows.length;
    };
    try {
      await client.query('begin');
      await client.query('select from tenant.limit_uses where subject_id = $1 for update', [slow.id]);
      const leases = Array.from({ length: 12 }, () =>
        new Replica(service).leaseOne(slow.id, { needs: ones(1) }),
      );
      // All connections of the pool but one.
      await eventually(async () => expect(await waiting()).toBe(4));
      expect(await new Replica(service).leaseOne(other.id, { needs: ones(5) })).toMatchObject({
        limit: 100n,
      });
      expect(await waiting()).toBe(4);
      await client.query('rollback');
      for (const grant of await Promise.all(leases)) expect(grant).toMatchObject({ limit: 100n });
    } finally {
      client.release();
      await admin.end();
    }
  });
});

describe('requests and tokens of a minute', () => {
  it('are never leased beyond the limit by any number of replicas at once', async () => {
    const tenant = await service.makeTenant({
      limits: { requests_per_minute: 60, tokens_per_minute: 100_000 },
    });
    const replicas = Array.from({ length: 8 }, () => new Replica(service));
    const grants = await Promise.all(
      replicas.flatMap((replica) =>
        Array.from({ length: 5 }, () =>
          replica.lease(tenant.id, [
            { needs: ones(4) },
            { resource: Resource.TOKENS, needs: [3_000n, 2_000n] },
          ]),
        ),
      ),
    );
    const windows = new Set(grants.map(([requests]) => requests?.windowStart));
    for (const window of windows) {
      const inWindow = grants.filter(([requests]) => requests?.windowStart === window);
      const sum = (index: number): bigint =>
        inWindow.reduce((all, own) => all + (own[index]?.granted ?? 0n), 0n);
      expect(sum(0)).toBeLessThanOrEqual(60n);
      expect(sum(1)).toBeLessThanOrEqual(100_000n);
      if (windows.size === 1) expect(sum(0)).toBe(60n);
    }
  });

  it('come back when they were not spent', async () => {
    const tenant = await service.makeTenant({ limits: { requests_per_minute: 2 } });
    const replica = new Replica(service);
    const { windowStart } = await replica.leaseOne(tenant.id, { needs: ones(2) });
    const again = await replica.leaseOne(tenant.id, { windowStart, returned: 1n, needs: ones(2) });
    expect(again.windowStart === windowStart ? again.granted : 1n).toBe(1n);
  });

  it('are unlimited where nothing is set, and follow a limit that is changed', async () => {
    const tenant = await service.makeTenant();
    const replica = new Replica(service);
    expect((await replica.leaseOne(tenant.id, { needs: ones(3) })).limit).toBeUndefined();
    await service.call('PATCH', `/internal/v1/owner/tenants/${tenant.id}`, {
      body: { limits: { requests_per_minute: 1 } },
    });
    expect(await replica.leaseOne(tenant.id, { needs: ones(3) })).toMatchObject({ limit: 1n, granted: 1n });
  });

  it('of a key are its own, and are listed in its tenant’s settings', async () => {
    const tenant = await service.makeTenant({ limits: { max_concurrent: 5 } });
    const key = await service.makeKey(tenant.admin, { limits: { requests_per_minute: 1 } });
    expect(await service.settings(tenant.id)).toMatchObject({
      limited: [Resource.CONCURRENCY],
      limitedKeys: [{ id: key.id, limited: [Resource.REQUESTS] }],
    });
    const other = await service.makeTenant();
    const replica = new Replica(service);
    expect(await replica.leaseOne(tenant.id, { subjectId: key.id, needs: ones(2) })).toMatchObject({
      granted: 1n,
    });
    // A lease for another tenant's key grants nothing.
    expect((await replica.leaseOne(other.id, { subjectId: key.id, needs: ones(2) })).limit).toBeUndefined();
  });
});

describe('counts of tokens', () => {
  it('are 600 a minute for each key and 6,000 for its tenant over all replicas, in no settings and no list of limits', async () => {
    const tenant = await service.makeTenant();
    const [key, other] = [await service.makeKey(tenant.admin), await service.makeKey(tenant.admin)];
    const replicas = Array.from({ length: 8 }, () => new Replica(service));
    const grants = await Promise.all(
      replicas.flatMap((replica) =>
        Array.from({ length: 3 }, () => replica.leaseOne(tenant.id, countsOf(key.id, 40))),
      ),
    );
    const windows = Map.groupBy(grants, ({ windowStart }) => windowStart);
    for (const inWindow of windows.values()) {
      const sum = inWindow.reduce((all, { granted }) => all + granted, 0n);
      expect(sum).toBeLessThanOrEqual(600n);
      if (windows.size === 1) expect(sum).toBe(600n);
    }
    expect(grants[0]).toMatchObject({ limit: 600n });
    const [replica = new Replica(service)] = replicas;
    expect(await replica.leaseOne(tenant.id, countsOf(other.id, 40))).toMatchObject({ granted: 40n });
    const ofTenant = await replica.leaseOne(tenant.id, countsOf(tenant.id, 7_000));
    expect(ofTenant).toMatchObject({ limit: 6_000n, granted: 6_000n });
    expect(await service.settings(tenant.id)).toMatchObject({ limited: [], limitedKeys: [] });
    const { body } = await service.call('GET', '/v1/limits', { as: { ...tenant.admin, keyId: key.id } });
    expect(JSON.stringify(body)).not.toContain('counts');
  });
});

const countsOf = (subjectId: string, count: number) => ({
  ...{ subjectId, resource: Resource.COUNTS, needs: ones(count) },
});

describe('concurrency', () => {
  it('stays with a replica that is too busy to show that it lives, while another one says so', async () => {
    const tenant = await service.makeTenant({ limits: { max_concurrent: 3 } });
    const [busy, other] = [new Replica(service), new Replica(service)];
    const slots = (needs: bigint[]) => ({ resource: Resource.CONCURRENCY, needs });
    await busy.lease(tenant.id, [slots([1n, 1n])]);
    const silent = () =>
      service.rows(`update tenant.limit_holders set seen_at = now() - interval '21 seconds' where id = $1`, [
        busy.id,
      ]);
    await silent();
    await other.showLife([busy.id, newId()]);
    expect(await other.leaseOne(tenant.id, slots([1n, 1n]))).toMatchObject({ granted: 1n });
    await silent();
    expect(await other.leaseOne(tenant.id, { ...slots([1n, 1n]), holding: 1n })).toMatchObject({
      granted: 2n,
    });
  });

  it('frees the slots of a replica that has not been heard of for 20 s', async () => {
    const tenant = await service.makeTenant({ limits: { max_concurrent: 3 } });
    const slots = { resource: Resource.CONCURRENCY };
    const [dead, alive] = [new Replica(service), new Replica(service)];
    expect(await dead.leaseOne(tenant.id, { ...slots, needs: ones(2) })).toMatchObject({ granted: 2n });
    expect(await alive.leaseOne(tenant.id, { ...slots, needs: ones(2) })).toMatchObject({ granted: 1n });
    await service.rows(
      `update tenant.limit_holders set seen_at = now() - interval '21 seconds' where id = $1`,
      [dead.id],
    );
    expect(await alive.leaseOne(tenant.id, { ...slots, holding: 1n, needs: ones(3) })).toMatchObject({
      granted: 2n,
    });
    // Signs of life are written once a second.
    await eventually(async () => {
      await dead.settle([]);
      expect(await limitsOf(service, tenant)).toEqual([
        {
          resource: 'concurrency',
          window: null,
          limit: 3,
          used: 5,
          reserved: 0,
          remaining: 0,
          resets_at: null,
          ...{ policy: null, value: null },
        },
      ]);
    }, 3_000);
  });

  it('rejects a late copy of a call that was given up', async () => {
    const tenant = await service.makeTenant({ limits: { max_concurrent: 3 } });
    const replica = new Replica(service);
    const slots = { resource: Resource.CONCURRENCY };
    await replica.lease(tenant.id, [{ ...slots, needs: ones(2) }], 7n);
    await expect(replica.lease(tenant.id, [{ ...slots, holding: 0n }], 6n)).rejects.toMatchObject({
      code: 'lease_superseded',
    });
    expect(await limitsOf(service, tenant)).toMatchObject([{ used: 2 }]);
  });
});

describe('a budget', () => {
  it('charges each run once, however often and by however many replicas it is settled', async () => {
    const tenant = await service.makeTenant({ budget: { usd: '0.000000001', period: 'day' } });
    const [holder, other] = [new Replica(service), new Replica(service)];
    const grant = await holder.leaseOne(tenant.id, { resource: Resource.BUDGET, needs: [400n] });
    expect(grant.spent).toBe(0n);
    const held = Number(grant.granted);
    expect(await limitsOf(service, tenant)).toMatchObject([
      { limit: '0.000000001000', used: '0.000000000000', reserved: `0.000000000${held}`, window: 'day' },
    ]);
    const settlement = settlementOf(tenant, holder, grant, 300n);
    await Promise.all([holder.settle([settlement]), other.settle([settlement]), other.settle([settlement])]);
    await holder.settle([settlement]);
    const rows = await service.rows(
      'select used::integer, published_percent as published from tenant.limit_uses where subject_id = $1',
      [tenant.id],
    );
    expect(rows).toEqual([{ used: 300, published: 0 }]);
    // The amount that was held and not spent stays held: the replica still has it.
    expect(await limitsOf(service, tenant)).toMatchObject([
      { used: '0.000000000300', reserved: `0.000000000${held - 300}` },
    ]);
    await other.settle([], [holder.id]);
    expect(await limitsOf(service, tenant)).toMatchObject([
      { used: '0.000000000300', reserved: '0.000000000000', remaining: '0.000000000700' },
    ]);
  });

  it('is reserved for requests under way, and not where it is leased in advance', async () => {
    const limits = { max_concurrent: 1_000_000 };
    const tenant = await service.makeTenant({ limits, budget: { usd: '1000', period: 'day' } });
    const replica = new Replica(service);
    const grants = await replica.lease(tenant.id, [
      { resource: Resource.BUDGET, needs: [10n ** 9n] },
      { resource: Resource.CONCURRENCY, needs: [1n, 1n] },
    ]);
    expect(grants.map(({ granted }) => granted > 2n)).toEqual([true, true]);
    expect(grants[0]?.granted).toBeGreaterThan(10n ** 9n);
    expect(await limitsOf(service, tenant)).toMatchObject([
      { resource: 'concurrency', used: 2, reserved: 0, remaining: 999_998 },
      {
        resource: 'budget',
        used: '0.000000000000',
        reserved: '0.001000000000',
        remaining: '999.999000000000',
      },
    ]);
  });

  it('keeps what a dead replica holds until its runs are settled', async () => {
    const tenant = await service.makeTenant({ budget: { usd: '0.000000001', period: 'month' } });
    const [dead, alive] = [new Replica(service), new Replica(service)];
    const money = { resource: Resource.BUDGET, needs: [900n] };
    const grant = await dead.leaseOne(tenant.id, money);
    await service.rows(`update tenant.limit_holders set seen_at = now() - interval '1 hour' where id = $1`, [
      dead.id,
    ]);
    expect(await alive.leaseOne(tenant.id, money)).toMatchObject({ granted: 0n });
    await alive.settle([settlementOf(tenant, dead, grant, 100n)], [dead.id]);
    expect(await alive.leaseOne(tenant.id, money)).toMatchObject({
      ...{ granted: 900n, remaining: 0n, spent: 100n },
    });
  });

  it('charges the window that a run was reserved in, which may be over', async () => {
    const tenant = await service.makeTenant({ budget: { usd: '1', period: 'day' } });
    const replica = new Replica(service);
    const grant = await replica.leaseOne(tenant.id, { resource: Resource.BUDGET, needs: [1n] });
    const yesterday = { ...grant, windowStart: grant.windowStart - 86_400_000n };
    await replica.settle([settlementOf(tenant, replica, yesterday, 10n ** 12n)]);
    expect(
      await replica.leaseOne(tenant.id, { resource: Resource.BUDGET, needs: [10n ** 12n - 1n] }),
    ).toMatchObject({
      granted: 10n ** 12n - 1n,
    });
  });

  it('records each threshold that its use reaches once in the audit log', async () => {
    const tenant = await service.makeTenant({ budget: { usd: '0.000000001', period: 'month' } });
    const replica = new Replica(service);
    const grant = await replica.leaseOne(tenant.id, { resource: Resource.BUDGET, needs: [1_000n] });
    for (const amount of [400n, 500n, 10n, 190n, 200n])
      await replica.settle([settlementOf(tenant, replica, grant, amount)]);
    const { body } = await service.call(
      'GET',
      `/internal/v1/owner/audit-log?tenant_id=${tenant.id}&action=budget.threshold_reached`,
    );
    const entries = body.data as unknown as {
      actor: { role: string };
      after: { percent: number; used_usd: string };
    }[];
    // Entries of one transaction have one time, and no order.
    entries.sort((a, b) => b.after.percent - a.after.percent);
    expect(entries.map(({ actor, after }) => [actor.role, after.percent, after.used_usd])).toEqual([
      ['system', 100, '0.000000001100'],
      ['system', 80, '0.000000000900'],
      ['system', 50, '0.000000000900'],
    ]);
  });

  it.each([
    ['Pacific/Auckland', 'day'],
    ['America/New_York', 'month'],
  ])('begins with the %s %s', async (timezone, period) => {
    const tenant = await service.makeTenant({ timezone, budget: { usd: '1', period } });
    const [limit] = await limitsOf(service, tenant);
    const local = new Intl.DateTimeFormat('sv', {
      timeZone: timezone,
      dateStyle: 'short',
      timeStyle: 'medium',
    });
    const resets = local.format(new Date(String(limit?.['resets_at'])));
    expect(resets).toMatch(period === 'day' ? / 00:00:00$/ : /-01 00:00:00$/);
  });
});

describe('a tenant whose settlement fails', () => {
  it('does not keep those of other tenants from being charged, and is charged once when it can be', async () => {
    const budget = { usd: '0.000000001', period: 'day' };
    const [stuck, other] = [await service.makeTenant({ budget }), await service.makeTenant({ budget })];
    const replica = new Replica(service);
    const settlements: Settlement[] = [];
    for (const tenant of [stuck, other]) {
      const grant = await replica.leaseOne(tenant.id, { resource: Resource.BUDGET, needs: [400n] });
      settlements.push(settlementOf(tenant, replica, grant, 300n));
    }
    const used = () =>
      service.rows(
        'select used::integer from tenant.limit_uses where subject_id = any($1) order by subject_id = $2',
        [[stuck.id, other.id], other.id],
      );
    await service.rows('begin');
    await service.rows('select from tenant.limit_uses where subject_id = $1 for update', [stuck.id]);
    expect(await replica.settlePartially(settlements)).toEqual([settlements[0]?.id]);
    // The release before takes an answer to mean that all were charged.
    await expect(replica.settle(settlements)).rejects.toThrow();
    expect(await used()).toEqual([{ used: 0 }, { used: 300 }]);
    await service.rows('rollback');
    expect(await replica.settlePartially(settlements)).toEqual([]);
    expect(await used()).toEqual([{ used: 300 }, { used: 300 }]);
  });
});

it('settlements are deleted after a week, and replicas that were not released after 40 days', async () => {
  const pool = createPool({
    url: service.database.url,
    role: 'tenant_system',
    max: 1,
    log: createLogger('test', 'silent'),
  });
  const [old, young] = [newId(), newId()];
  await service.rows(
    `insert into tenant.settlements (id, settled_at)
     values ($1, now() - interval '8 days'), ($2, now() - interval '6 days')`,
    [old, young],
  );
  await service.rows(
    `insert into tenant.limit_holders (id, seen_at)
     values ($1, now() - interval '41 days'), ($2, now() - interval '39 days')`,
    [old, young],
  );
  await deleteOldRows(pool, oldSettlements);
  await new LimitSystemStore({ known: pool, system: pool }).deleteOldHolders();
  await pool.end();
  const ids = [[old, young]];
  expect(await service.rows('select id from tenant.settlements where id = any($1)', ids)).toEqual([
    { id: young },
  ]);
  expect(await service.rows('select id from tenant.limit_holders where id = any($1)', ids)).toEqual([
    { id: young },
  ]);
});

it('limits are leased by chat alone', async () => {
  const tenant = await service.makeTenant();
  const agent = await service.peer('agent');
  const request = { holderId: newId(), sequence: 1n, tenantId: tenant.id, asks: [], demands: [] };
  await expect(agent.call('lease', request, { deadlineMs: 5_000 })).rejects.toMatchObject({
    code: 'caller_not_allowed',
  });
  await expect(
    agent.call(
      'settle',
      {
        ...{ holderId: newId(), settlements: [], counterSettlements: [], releasedHolderIds: [] },
        liveHolderIds: [],
      },
      { deadlineMs: 5_000 },
    ),
  ).rejects.toMatchObject({ code: 'caller_not_allowed' });
});
