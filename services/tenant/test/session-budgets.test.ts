import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { PolicyIndex, type MatchedPolicy, type RunFacts } from '@gatehouse/kit/policy-matching';
import { sessionBudgetPolicy, sessionBudgetPolicyId } from '@gatehouse/kit/session-budget';
import { createPool } from '@gatehouse/pg/pool';
import { Resource, type Ask, type Grant } from '@gatehouse/proto/tenant/v1/tenant';
import { CounterSystemStore } from '../src/limits/counter-system-store.ts';
import { eventually } from '@gatehouse/test/eventually';
import { Replica, settlementOf } from './replica.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

/** Budgets of sessions, set by requests. */

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterAll(() => service.stop());

let tenant: TestTenant;
beforeEach(async () => {
  tenant = await service.makeTenant();
});

/** An ask of a request in the session of a user, as chat makes it. */
function askOf(session: string, sessionBudget?: bigint, of = tenant): Partial<Ask> {
  const facts: RunFacts = {
    ...{ userId: 'ada', groups: [], agent: null, apiKeyId: null, sessionId: session, ownKey: false },
  };
  const [counter] = new PolicyIndex<MatchedPolicy>([])
    .matching(facts, [sessionBudgetPolicy(of.id)])
    .countersOf(null);
  return {
    ...{ subjectId: counter?.id ?? '', policyId: sessionBudgetPolicyId, value: counter?.value ?? '' },
    ...{ userId: 'ada', resource: Resource.BUDGET, sessionBudget },
  };
}

async function take(ask: Partial<Ask>, amount: bigint, replica = new Replica(service)): Promise<Grant> {
  const [grant] = await replica.leaseTogether(tenant.id, [ask], [{ 0: amount }]);
  if (grant === undefined) throw new Error('no grant');
  return grant;
}

async function withCounters(work: (counters: CounterSystemStore) => Promise<unknown>): Promise<void> {
  const log = createLogger('test', 'silent');
  const pool = createPool({ url: service.database.url, role: 'tenant_system', max: 1, log });
  await work(new CounterSystemStore(pool));
  await pool.end();
}

const deleteEnded = () => withCounters((counters) => counters.deleteEnded());

const settings = async (of = tenant) =>
  (await service.peer('chat')).call('getTenantSettings', { tenantId: of.id }, { deadlineMs: 5_000 });

describe('the budget of a session', () => {
  it('is set by its first request, and counts in each further one, on all replicas together', async () => {
    expect(await take(askOf('s', 1_000n), 600n)).toMatchObject({ limit: 1_000n, granted: 600n });
    expect(await take(askOf('s'), 500n)).toMatchObject({ limit: 1_000n, granted: 0n, remaining: 400n });
    expect(await take(askOf('s'), 400n)).toMatchObject({ granted: 400n, remaining: 0n });
  });

  it('has less room while a lease sent before its replica learns of a charge holds that run too, and never more', async () => {
    const replica = new Replica(service);
    const grant = await take(askOf('s', 1_000n), 900n, replica);
    const { subjectId = '' } = askOf('s');
    const { windowStart } = grant;
    const charges = [{ subjectId, windowStart }];
    await replica.settle([{ ...settlementOf(tenant, replica, grant, 900n), charges }]);
    const askHolding = (holding: bigint) => take({ ...askOf('s'), windowStart, holding }, 100n, replica);
    expect(await askHolding(900n)).toMatchObject({ granted: 0n, remaining: 0n, spent: 900n });
    const sums = await service.rows(
      `select used::text, amount::text as held from tenant.policy_counters c join tenant.limit_holds h on h.subject_id = c.id
       where c.id = $1`,
      [subjectId],
    );
    expect(sums).toEqual([{ used: '900', held: '900' }]);
    expect(await askHolding(0n)).toMatchObject({ granted: 100n, remaining: 0n, spent: 900n });
  });

  it('is lowered by later requests, and never raised', async () => {
    await take(askOf('s', 1_000n), 300n);
    expect(await take(askOf('s', 5_000n), 1n)).toMatchObject({ limit: 1_000n });
    expect(await take(askOf('s', 500n), 300n)).toMatchObject({ limit: 500n, granted: 0n });
    expect(await take(askOf('s'), 199n)).toMatchObject({ limit: 500n, granted: 199n, remaining: 0n });
  });

  it('is one of the session and its user, in one tenant; other sessions have none', async () => {
    await take(askOf('s', 1_000n), 1_000n);
    expect((await take(askOf('t'), 10n ** 15n)).limit).toBeUndefined();
    const other = await service.makeTenant();
    expect(askOf('s', 1n, other).subjectId).not.toBe(askOf('s').subjectId);
    expect(
      await service.rows('select id from tenant.policy_counters where tenant_id = $1', [tenant.id]),
    ).toHaveLength(1);
  });

  it('leases nothing in advance, since any request may lower it', async () => {
    expect(await take(askOf('s', 10n ** 12n), 1n)).toMatchObject({ granted: 1n, remaining: 10n ** 12n - 1n });
  });

  it('is the least that requests at once have set', async () => {
    const grants = await Promise.all(
      Array.from({ length: 8 }, (_, index) => take(askOf('s', BigInt(900 + index)), 200n)),
    );
    expect(grants.reduce((sum, { granted }) => sum + granted, 0n)).toBe(800n);
    expect((await take(askOf('s'), 1n)).limit).toBe(900n);
  });

  it('is charged what its runs cost', async () => {
    const replica = new Replica(service);
    const grant = await take(askOf('s', 1_000n), 900n, replica);
    const charges = [{ subjectId: askOf('s').subjectId ?? '', windowStart: grant.windowStart }];
    await replica.settle([{ ...settlementOf(tenant, replica, grant, 250n), charges }]);
    await replica.leaseTogether(tenant.id, [{ ...askOf('s'), windowStart: grant.windowStart }], []);
    expect(await take(askOf('s'), 1n)).toMatchObject({ spent: 250n, granted: 1n, remaining: 749n });
  });

  it('has events at its percentages, once each', async () => {
    const replica = new Replica(service);
    const grant = await take(askOf('s', 1_000n), 900n, replica);
    const charges = [{ subjectId: askOf('s').subjectId ?? '', windowStart: grant.windowStart }];
    for (const cost of [400n, 150n, 100n, 350n])
      await replica.settle([{ ...settlementOf(tenant, replica, grant, cost), charges }]);
    await eventually(() => {
      const alerts = service.others.alertsOf(tenant.id, 'budget.threshold').map(({ data }) => data);
      expect(alerts.map((data) => data['percent'])).toEqual([50, 80, 100]);
      expect(alerts[0]).toEqual({
        ...{ subject_type: 'policy', subject_id: sessionBudgetPolicyId, policy: 'session-budget' },
        ...{ value: 'user:ada/s', percent: 50, used_usd: '0.000000000550', budget_usd: '0.000000001000' },
        window_start: new Date(Number(grant.windowStart)).toISOString(),
      });
    });
  });

  it('is a change, and the first one also of the settings of the tenant', async () => {
    expect((await settings()).hasSessionBudgets).toBe(false);
    const changes = () =>
      service.rows('select subject from tenant.changes where tenant_id = $1 and key_id is null', [tenant.id]);
    const before = (await changes()).length;
    for (const session of ['s', 't', 's']) await take(askOf(session, 10n), 1n);
    const made = (await changes()).slice(before).map(({ subject }) => subject);
    const [first, second] = ['s', 't'].map((session) => askOf(session).subjectId);
    expect(new Set(made)).toEqual(new Set([first, null, second]));
    expect(made).toHaveLength(3);
    expect((await settings()).hasSessionBudgets).toBe(true);
    expect((await settings(await service.makeTenant())).hasSessionBudgets).toBe(false);
  });

  it('ends a day after the last request, and not as the counter of a deleted policy', async () => {
    await take(askOf('s', 1_000n), 1_000n);
    const removable = async () => {
      const [row] = await service.rows(
        `select extract(epoch from removable_at - now()) / 3600 as hours from tenant.policy_counters
         where tenant_id = $1`,
        [tenant.id],
      );
      return Number(row?.['hours'] ?? 0);
    };
    expect(await removable()).toBeGreaterThan(24);
    expect(await removable()).toBeLessThanOrEqual(25);
    await withCounters((counters) => counters.endDeleted());
    expect(await removable()).toBeGreaterThan(24);
    await service.rows(
      `update tenant.policy_counters set removable_at = now() - interval '1 second' where tenant_id = $1`,
      [tenant.id],
    );
    await deleteEnded();
    expect((await take(askOf('s'), 5_000n)).limit).toBeUndefined();
    expect(await take(askOf('s', 2_000n), 1_500n)).toMatchObject({ limit: 2_000n, granted: 1_500n });
  });

  it('is in GET /v1/limits of the session', async () => {
    await take(askOf('s', 1_000_000_000_000n), 250_000_000_000n);
    const { body } = await service.call('GET', '/v1/limits?user_id=ada&session_id=s', { as: tenant.admin });
    expect((body as unknown as { limits: unknown[] }).limits[0]).toMatchObject({
      ...{ resource: 'budget', window: 'total', limit: '1.000000000000', reserved: '0.250000000000' },
      ...{ remaining: '0.750000000000', resets_at: null, policy: 'session-budget', value: 'user:ada/s' },
    });
    const other = await service.call('GET', '/v1/limits?user_id=bob&session_id=s', { as: tenant.admin });
    expect(JSON.stringify(other.body)).not.toContain('session-budget');
  });

  it('leaves room for the counters of policies, and so do runs without a key', async () => {
    const body = { name: 'people', per: 'user', budget: { usd: '0.0000000005', period: 'day' } };
    const policy = await service.call('POST', '/v1/policies', { as: tenant.admin, body });
    const ofPolicy = (value: string) => ({ subjectId: newId(), policyId: policy.body.id, value });
    const count = (resource: string, counters: number) =>
      service.rows(
        'insert into tenant.limit_uses (tenant_id, subject_id, resource, used) values ($1, $1, $2, $3)',
        [tenant.id, resource, counters],
      );
    await count('keyless_counters', 499_999);
    await count('session_counters', 249_999);
    const byKey = { apiKeyId: newId() };
    expect(await take({ ...askOf('s', 5n), ...byKey }, 1n)).toMatchObject({ granted: 1n });
    expect(await take({ ...askOf('t', 5n), ...byKey }, 1n)).toMatchObject({ tooManyCounters: true });
    expect(await take({ ...askOf('u'), ...ofPolicy('ada') }, 1n)).toMatchObject({ granted: 1n });
    expect(await take({ ...askOf('u'), ...ofPolicy('bob') }, 1n)).toMatchObject({ tooManyCounters: true });
    expect(await take({ ...askOf('u'), ...ofPolicy('bob'), ...byKey }, 1n)).toMatchObject({ granted: 1n });
    await service.rows(
      `update tenant.policy_counters set removable_at = now() - interval '1 hour' where tenant_id = $1`,
      [tenant.id],
    );
    await deleteEnded();
    const left = await service.rows(
      `select resource, used::integer as used from tenant.limit_uses
       where tenant_id = $1 and resource like '%counters' order by resource`,
      [tenant.id],
    );
    const none = { resource: 'counters', used: 0 };
    expect(left).toEqual([
      ...[none, none],
      { resource: 'keyless_counters', used: 499_999 },
      { resource: 'session_counters', used: 249_999 },
    ]);
  });

  it('has a name that no policy may have', async () => {
    const body = { name: 'session-budget', limits: { requests_per_minute: 1 } };
    expect(await service.call('POST', '/v1/policies', { as: tenant.admin, body })).toMatchObject({
      ...{ status: 400, body: { error: { code: 'invalid_value', param: 'name' } } },
    });
  });

  it('is set by no ask of another policy, and not below zero', async () => {
    const wrong: Partial<Ask>[] = [
      { policyId: newId() },
      { sessionBudget: -1n },
      { resource: Resource.TOKENS },
    ];
    for (const fields of wrong)
      await expect(take({ ...askOf('s', 1n), ...fields }, 1n)).rejects.toMatchObject({
        code: 'invalid_value',
      });
  });
});
