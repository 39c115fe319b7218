import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { limitsOf, Replica } from './replica.ts';
import { TenantServiceUnderTest } from './tenant-service.ts';

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterAll(() => service.stop());

it('a released replica holds nothing, even when it leases on since it has not learned of its death', async () => {
  const tenant = await service.makeTenant({
    limits: { max_concurrent: 5 },
    budget: { usd: '0.000000001', period: 'day' },
  });
  const asks = [
    { resource: Resource.BUDGET, needs: [600n] },
    { resource: Resource.CONCURRENCY, needs: [1n, 1n, 1n] },
  ];
  const [paused, other] = [new Replica(service), new Replica(service)];
  await paused.lease(tenant.id, asks);
  expect((await other.lease(tenant.id, asks)).map(({ granted }) => granted)).toEqual([0n, 2n]);
  await other.settle([], [paused.id]);
  await paused.lease(tenant.id, asks);
  const holds = 'select from tenant.limit_holds where holder_id = $1 and amount > 0';
  expect(await service.rows(holds, [paused.id])).toHaveLength(2);
  const granted = await other.lease(tenant.id, [
    { resource: Resource.BUDGET, needs: [1_000n] },
    { resource: Resource.CONCURRENCY, holding: 2n, needs: [1n, 1n, 1n] },
  ]);
  expect(granted.map((grant) => grant.granted)).toEqual([1_000n, 3n]);
  expect((await limitsOf(service, tenant))[0]).toMatchObject({ resource: 'concurrency', used: 5 });
  await other.settle([], [paused.id]);
  expect(await service.rows(holds, [paused.id])).toEqual([]);
});
