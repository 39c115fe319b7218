import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { TenantServiceUnderTest } from './tenant-service.ts';

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start({ settings: { DATABASE_POOL: '2' } });
});
afterAll(() => service.stop());

it('keys and sessions are found while all connections for lists of owners are busy', async () => {
  const { adminKey } = await service.makeTenant();
  const edge = await service.peer('edge');
  await service.rows('begin');
  await service.rows('lock table tenant.audit_log in access exclusive mode');
  const waiting = Array.from({ length: 4 }, () => service.call('GET', '/internal/v1/owner/audit-log'));
  await eventually(async () => {
    expect((await service.rows('select from pg_locks where not granted')).length).toBeGreaterThanOrEqual(2);
  });
  expect((await service.authenticate(adminKey)).result?.$case).toBe('key');
  expect(
    await edge.call('authenticateSession', { tokenSha256: Buffer.alloc(32) }, { deadlineMs: 2_000 }),
  ).toEqual({ key: undefined });
  await service.rows('rollback');
  await Promise.all(waiting);
});
