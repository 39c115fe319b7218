import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { TenantServiceUnderTest } from './tenant-service.ts';

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start({ settings: { DATABASE_POOL: '10' } });
});
afterAll(() => service.stop());

it('settings are read while slow HTTP requests of other tenants hold all connections of theirs', async () => {
  // A tenant alone never holds all.
  const slow = [await service.makeTenant(), await service.makeTenant()];
  const other = await service.makeTenant();
  await service.rows('begin');
  await service.rows('lock table tenant.limit_uses in access exclusive mode');
  const waiting = slow.flatMap(({ admin }) =>
    Array.from({ length: 6 }, () => service.call('GET', '/v1/limits', { as: admin })),
  );
  await eventually(async () => expect(await service.waiting()).toBeGreaterThanOrEqual(5));
  for (let n = 0; n < 3; n += 1) expect((await service.settings(other.id)).status).toBe('active');
  await service.rows('rollback');
  await Promise.all(waiting);
});
