import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { TenantServiceUnderTest } from './tenant-service.ts';

let tenants: TenantServiceUnderTest;
beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
});
afterAll(() => tenants.stop());

async function describeTenants(ids: string[], caller = 'analytics') {
  const peer = await tenants.peer(caller);
  return (await peer.call('describeTenants', { ids }, { deadlineMs: 5_000 })).tenants;
}

it('names tenants by their ids, without their settings', async () => {
  const [one, other] = [await tenants.makeTenant(), await tenants.makeTenant()];
  const named = await describeTenants([one.id, newId(), other.id]);
  expect(named.map(({ id }) => id).toSorted()).toEqual([one.id, other.id].toSorted());
  for (const tenant of named) expect(Object.keys(tenant).toSorted()).toEqual(['id', 'name', 'slug']);
  expect(named.every(({ slug, name }) => slug !== '' && name !== '')).toBe(true);
});

it('names a tenant by its slug', async () => {
  const { id, slug } = await tenants.makeTenant();
  const peer = await tenants.peer('analytics');
  const named = async (wanted: string) =>
    (await peer.call('describeTenants', { ids: [], slug: wanted }, { deadlineMs: 5_000 })).tenants;
  expect(await named(slug)).toMatchObject([{ id, slug }]);
  expect(await named(`${slug}-2`)).toEqual([]);
});

it('refuses more than 200 ids, texts that are no ids, and other services', async () => {
  const ids = Array.from({ length: 200 }, () => newId());
  expect(await describeTenants(ids)).toEqual([]);
  await expect(describeTenants([...ids, newId()])).rejects.toMatchObject({ param: 'ids' });
  await expect(describeTenants(['a'])).rejects.toMatchObject({ param: 'ids' });
  await expect(describeTenants(ids, 'memory')).rejects.toMatchObject({ code: 'caller_not_allowed' });
});
