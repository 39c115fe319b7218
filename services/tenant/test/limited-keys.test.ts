import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { PatientClient } from '@gatehouse/pg/patient-client';
import { GetTenantSettingsResponse, Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { limitsOf, Replica, settlementOf } from './replica.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterAll(() => service.stop());

async function keyLimits(tenantId: string, apiKeyId: string): Promise<Resource[] | undefined> {
  const peer = await service.peer('chat');
  const { limitedKeys } = await peer.call('getTenantSettings', { tenantId, apiKeyId }, { deadlineMs: 5_000 });
  expect(limitedKeys.length).toBeLessThanOrEqual(1);
  return limitedKeys.find(({ id }) => id === apiKeyId)?.limited;
}

async function setStatus(tenant: TestTenant, status: string): Promise<void> {
  await service.call('PATCH', `/internal/v1/owner/tenants/${tenant.id}`, { body: { status } });
}

describe('limits of keys', () => {
  it('are asked for by key, and only of the own tenant', async () => {
    const [tenant, other] = [await service.makeTenant(), await service.makeTenant()];
    const key = await service.makeKey(tenant.admin, {
      limits: { requests_per_minute: 1 },
      budget: { usd: '1', period: 'day' },
    });
    const plain = await service.makeKey(tenant.admin);
    expect(await keyLimits(tenant.id, key.id)).toEqual([Resource.REQUESTS, Resource.BUDGET]);
    expect(await keyLimits(tenant.id, plain.id)).toBeUndefined();
    expect(await keyLimits(other.id, key.id)).toBeUndefined();
    expect(await keyLimits(tenant.id, newId())).toBeUndefined();
    await expect(keyLimits(tenant.id, 'nope')).rejects.toMatchObject({ code: 'invalid_value' });
  });

  it('of 100,000 keys cost a tenant’s settings nothing, and an old chat gets the newest 10,000', async () => {
    const tenant = await service.makeTenant();
    expect((await service.settings(tenant.id)).someKeyLimited).toBe(false);
    await service.rows(
      `insert into tenant.api_keys (id, tenant_id, key_id, secret_sha256, name, role, scopes, created_by, limits)
       select (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-' || right($1, 12))::uuid, $1::uuid,
              'k' || lpad(n::text, 15, '0'), sha256(n::text::bytea), 'k', 'user', '{}', 'x',
              '{"requests_per_minute": 1}'
       from generate_series(1, 100000) as n`,
      [tenant.id],
    );
    const settings = await service.settings(tenant.id, 'chat', true);
    expect(settings).toMatchObject({ someKeyLimited: true, limitedKeys: [] });
    expect(GetTenantSettingsResponse.encode(settings).finish().length).toBeLessThan(100);
    const old = await service.settings(tenant.id, 'analytics');
    expect(old.limitedKeys).toHaveLength(10_000);
    expect(old.limitedKeys[0]?.id).toMatch(/^000186a0-/);
    expect(await keyLimits(tenant.id, old.limitedKeys[0]?.id ?? '')).toEqual([Resource.REQUESTS]);
  });
});

describe('a suspended tenant', () => {
  it.each(['suspended', 'archived'])(
    'leases nothing while it is %s, and gives back what it has',
    async (to) => {
      const tenant = await service.makeTenant({
        limits: { max_concurrent: 5 },
        budget: { usd: '0.000000001', period: 'day' },
      });
      const replica = new Replica(service);
      const slots = { resource: Resource.CONCURRENCY };
      await replica.leaseOne(tenant.id, { ...slots, needs: [1n, 1n] });
      const grant = await replica.leaseOne(tenant.id, { resource: Resource.BUDGET, needs: [100n] });
      await setStatus(tenant, to);
      await expect(replica.lease(tenant.id, [{ ...slots, holding: 2n, needs: [1n] }])).rejects.toMatchObject({
        code: 'tenant_suspended',
        message: `The tenant of this API key is ${to}.`,
      });
      // Streams that are under way end, give back their slots and are charged.
      expect(await replica.leaseOne(tenant.id, { ...slots, holding: 1n })).toMatchObject({ remaining: 4n });
      await replica.settle([settlementOf(tenant, replica, grant, 100n)], [replica.id]);
      await setStatus(tenant, 'active');
      expect(await limitsOf(service, tenant)).toMatchObject([
        { resource: 'concurrency', used: 0 },
        { resource: 'budget', used: '0.000000000100' },
      ]);
      expect(await new Replica(service).leaseOne(tenant.id, { ...slots, needs: [1n] })).toMatchObject({
        granted: 1n,
      });
    },
  );

  it('has its status in its settings', async () => {
    const tenant = await service.makeTenant();
    await setStatus(tenant, 'suspended');
    expect(await service.settings(tenant.id)).toMatchObject({ status: 'suspended' });
  });
});

it('a limit of more than 600 requests at once leaves each replica a 64th without leases, within the limit', async () => {
  const tenant = await service.makeTenant({ limits: { max_concurrent: 1_000 } });
  expect(await service.settings(tenant.id)).toMatchObject({ unleasedRequests: 15n });
  const [one, other] = [new Replica(service), new Replica(service)];
  const all = { resource: Resource.CONCURRENCY, needs: Array<bigint>(1_000).fill(1n) };
  // Other tests of this file have replicas, too.
  const { granted } = await one.leaseOne(tenant.id, all);
  expect([Number(granted) % 15, granted < 1_000n]).toEqual([1_000 % 15, true]);
  expect((await other.leaseOne(tenant.id, { ...all, needs: Array<bigint>(50).fill(1n) })).granted).toBe(0n);
  const small = await service.makeTenant({ limits: { max_concurrent: 600 } });
  expect(await service.settings(small.id)).toMatchObject({ unleasedRequests: 0n });
  expect((await one.leaseOne(small.id, { ...all, needs: Array<bigint>(600).fill(1n) })).granted).toBe(600n);
});

it('leases cost four statements, and five more the first time', async () => {
  const tenant = await service.makeTenant({ limits: { requests_per_minute: 100 } });
  const replica = new Replica(service);
  const sent = jest.spyOn(PatientClient.prototype, 'query');
  const lease = async (): Promise<number> => {
    sent.mockClear();
    await replica.leaseOne(tenant.id, { needs: [1n] });
    return sent.mock.calls.filter((call) => JSON.stringify(call.slice(0, 2)).includes(tenant.id)).length;
  };
  const counts = [await lease(), await lease()];
  sent.mockRestore();
  expect(counts).toEqual([9, 4]);
});
