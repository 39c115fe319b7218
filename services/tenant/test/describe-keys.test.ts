import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let tenants: TenantServiceUnderTest;
let tenant: TestTenant;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
  tenant = await tenants.makeTenant();
});
afterAll(() => tenants.stop());

async function describeKeys(tenantId: string, ids: string[], caller = 'analytics') {
  const peer = await tenants.peer(caller);
  return (await peer.call('describeKeys', { tenantId, ids }, { deadlineMs: 5_000 })).keys;
}

it('names keys of the tenant alone, revoked ones too, and nothing else of them', async () => {
  const other = await tenants.makeTenant();
  const { id } = await tenants.makeKey(tenant.admin, { name: 'Web shop' });
  const { id: theirs } = await tenants.makeKey(other.admin);
  await tenants.call('POST', `/v1/api-keys/${id}/revoke`, { as: tenant.admin });
  expect(await describeKeys(tenant.id, [id, theirs, newId()])).toEqual([{ id, name: 'Web shop' }]);
  expect(await describeKeys(newId(), [id])).toEqual([]);
});

it('finds keys of the tenant by the beginning of their names, in any case', async () => {
  const [mine, other] = [await tenants.makeTenant(), await tenants.makeTenant()];
  const { id } = await tenants.makeKey(mine.admin, { name: 'Über 100%' });
  await tenants.makeKey(other.admin, { name: 'Über 100%' });
  await tenants.makeKey(mine.admin, { name: 'Not über' });
  const peer = await tenants.peer('analytics');
  const named = async (namePrefix: string) =>
    (await peer.call('describeKeys', { tenantId: mine.id, ids: [], namePrefix }, { deadlineMs: 5_000 })).keys;
  expect(await named('Über 1')).toEqual([{ id, name: 'Über 100%' }]);
  expect(await named('Über _')).toEqual([]);
});

it('refuses more than 200 ids, texts that are no ids, and other services', async () => {
  const ids = Array.from({ length: 200 }, () => newId());
  expect(await describeKeys(tenant.id, ids)).toEqual([]);
  await expect(describeKeys(tenant.id, [...ids, newId()])).rejects.toMatchObject({ param: 'ids' });
  await expect(describeKeys(tenant.id, ['a'])).rejects.toMatchObject({ param: 'ids' });
  await expect(describeKeys('', ids)).rejects.toMatchObject({ param: 'tenant_id' });
  await expect(describeKeys(tenant.id, ids, 'memory')).rejects.toMatchObject({ code: 'caller_not_allowed' });
});
