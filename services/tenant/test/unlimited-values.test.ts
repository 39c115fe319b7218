import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { Replica, settlementOf } from './replica.ts';
import { TenantServiceUnderTest } from './tenant-service.ts';

/** Values of policies whose budget has no limit by an override. */

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterAll(() => service.stop());

it('a value without limit is counted, and its next amount includes what it has spent', async () => {
  const tenant = await service.makeTenant();
  const call = (method: string, path: string, body?: object) =>
    service.call(method, path, { as: tenant.admin, ...(body !== undefined && { body }) });
  const budget = { usd: '0.0000000006', period: 'day' };
  const overrides = { ada: { budget_usd: null } };
  const created = await call('POST', '/v1/policies', { name: 'people', per: 'user', budget, overrides });
  const [replica, subjectId] = [new Replica(service), newId()];
  const take = async (amount: bigint) => {
    const ask = { subjectId, policyId: created.body.id, value: 'ada', resource: Resource.BUDGET };
    const [grant] = await replica.leaseTogether(tenant.id, [ask], [{ 0: amount }]);
    if (grant === undefined) throw new Error('no grant');
    return grant;
  };
  const grant = await take(10n ** 18n);
  expect([grant.limit, grant.granted]).toEqual([undefined, 0n]);
  expect(grant.windowStart).toBeGreaterThan(0n);
  const charges = [{ subjectId, windowStart: grant.windowStart }];
  await replica.settle([{ ...settlementOf(tenant, replica, grant, 450n), charges }]);
  const list = await call('GET', '/v1/policies/people/counters');
  expect(list.body).toMatchObject({
    data: [{ value: 'ada', budget_usd: null, spent_usd: '0.000000000450', remaining_usd: null }],
  });
  const budgets = async () => {
    const { body } = await call('GET', '/v1/limits?user_id=ada');
    const { limits } = body as unknown as { limits: { resource: string; limit: unknown }[] };
    return limits.filter(({ resource }) => resource === 'budget').map(({ limit }) => limit);
  };
  expect(await budgets()).toEqual([]);
  expect((await call('DELETE', '/v1/policies/people/overrides/ada')).status).toBe(204);
  expect(await budgets()).toEqual(['0.000000000600']);
  expect(await take(200n)).toMatchObject({ limit: 600n, granted: 0n, spent: 450n });
  expect(await take(150n)).toMatchObject({ granted: 150n });
});
