import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { Replica } from './replica.ts';
import { TenantServiceUnderTest } from './tenant-service.ts';

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterAll(() => service.stop());

const resources = [Resource.REQUESTS, Resource.TOKENS, Resource.CONCURRENCY, Resource.COUNTS];

it('first leases on many replicas do not wait for each other', async () => {
  for (let round = 0; round < 5; round += 1) {
    const tenant = await service.makeTenant();
    const keys = await Promise.all([1, 2].map(() => service.makeKey(tenant.admin)));
    const asks = [tenant.id, ...keys.map(({ id }) => id)].flatMap((subjectId) =>
      resources.map((resource) => ({ subjectId, resource, needs: [1n] })),
    );
    // Each asks for some rows of those before it, and for others.
    const leases = Array.from({ length: 12 }, (_, index) => {
      const some = asks.filter((_ask, place) => (place + index) % 3 === 0 || (place * index) % 5 === 1);
      return new Replica(service).lease(tenant.id, index % 2 === 0 ? some : some.toReversed());
    });
    for (const grants of await Promise.all(leases)) expect(grants.length).toBeGreaterThan(0);
  }
});
