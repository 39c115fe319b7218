import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { Replica } from './replica.ts';
import { TenantServiceUnderTest } from './tenant-service.ts';

/** Waiting requests with needs in several limits: each gets all of them, or nothing. */

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start({ settings: { DATABASE_POOL: '10' } });
});
afterAll(() => service.stop());

/** Small enough to be leased without a slice in advance. */
const budget = { usd: '0.0000000006', period: 'month' };

/** A tenant with a budget, and keys with smaller ones; asks for all of them. */
async function nested(keyUsd: readonly string[]) {
  const tenant = await service.makeTenant({ budget, limits: { max_concurrent: 3 } });
  const keys = await Promise.all(
    keyUsd.map((usd) => service.makeKey(tenant.admin, { budget: { ...budget, usd } })),
  );
  const asks = [
    ...[tenant, ...keys].map(({ id }) => ({ subjectId: id, resource: Resource.BUDGET })),
    { subjectId: tenant.id, resource: Resource.CONCURRENCY },
  ];
  const uses = () =>
    service.rows(
      `select subject_id, resource, used::text, coalesce(sum(h.amount), 0)::text as held
       from tenant.limit_uses u left join tenant.limit_holds h using (tenant_id, subject_id, resource, window_start)
       where tenant_id = $1 group by subject_id, resource, used order by subject_id, resource`,
      [tenant.id],
    );
  return { tenant, asks, uses };
}

it('a request that one limit refuses leaves all limits as they were', async () => {
  const { tenant, asks, uses } = await nested(['0.0000000005', '0.0000000003']);
  const [replica, other] = [new Replica(service), new Replica(service)];
  await other.leaseTogether(tenant.id, asks, [{ 0: 10n, 1: 10n, 3: 1n }]);
  const before = await uses();
  const grants = await replica.leaseTogether(tenant.id, asks, [{ 0: 400n, 1: 400n, 2: 400n, 3: 1n }]);
  expect(grants.map(({ granted }) => granted)).toEqual([0n, 0n, 0n, 0n]);
  expect(grants.map(({ remaining }) => remaining)).toEqual([590n, 490n, 300n, 2n]);
  expect(await uses()).toEqual(before);
});

it('requests are granted in their order, and a later one gets what an earlier one may not have', async () => {
  const { tenant, asks } = await nested(['0.0000000005']);
  const grants = await new Replica(service).leaseTogether(tenant.id, asks, [
    { 0: 400n, 1: 400n, 2: 1n },
    { 0: 200n, 1: 200n, 2: 1n },
    { 0: 100n, 1: 100n, 2: 1n },
    { 0: 50n, 2: 1n },
    { 0: 5n, 2: 1n },
  ]);
  expect(grants.map(({ granted }) => granted)).toEqual([550n, 500n, 3n]);
});

it('the needs of limits count for a replica of the previous release alone', async () => {
  const { tenant, asks } = await nested([]);
  const withNeeds = asks.map((ask, index) => ({ ...ask, needs: [index === 0 ? 7n : 2n] }));
  const grantsTo = async (demands: Record<number, bigint>[]) =>
    (await new Replica(service).leaseTogether(tenant.id, withNeeds, demands)).map(({ granted }) => granted);
  expect(await grantsTo([])).toEqual([7n, 2n]);
  expect(await grantsTo([{ 0: 5n, 1: 1n }])).toEqual([5n, 1n]);
});

it.each([
  ['an unknown limit', [{ 9: 1n }]],
  ['a negative amount', [{ 0: -1n }]],
])('a need of %s is refused', async (_name, demands) => {
  const { tenant, asks } = await nested([]);
  await expect(new Replica(service).leaseTogether(tenant.id, asks, demands)).rejects.toMatchObject({
    code: 'invalid_value',
  });
});

it('a call names each limit once', async () => {
  const { tenant, asks } = await nested([]);
  await expect(new Replica(service).lease(tenant.id, [...asks, ...asks])).rejects.toMatchObject({
    code: 'invalid_value',
  });
});

it('replicas together exceed no limit, however their requests overlap', async () => {
  const amount = fc.bigInt({ min: 1n, max: 400n });
  const demand = fc.record({ tenant: amount, key: amount, which: fc.nat(1), slot: fc.constantFrom(0n, 1n) });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(demand, { maxLength: 6 }), { maxLength: 6 }), async (calls) => {
      const { tenant, asks, uses } = await nested(['0.0000000005', '0.0000000004']);
      await Promise.all(
        calls.map((demands) =>
          new Replica(service).leaseTogether(
            tenant.id,
            asks,
            demands.map(({ tenant: whole, key, which, slot }) => ({ 0: whole, [1 + which]: key, 3: slot })),
          ),
        ),
      );
      const limits = new Map([
        [asks[0]?.subjectId, 600n],
        [asks[1]?.subjectId, 500n],
        [asks[2]?.subjectId, 400n],
      ]);
      for (const { subject_id: id, resource, held } of await uses())
        expect(BigInt(String(held)) <= (resource === 'budget' ? (limits.get(String(id)) ?? 0n) : 3n)).toBe(
          true,
        );
    }),
    { numRuns: 15 },
  );
});
