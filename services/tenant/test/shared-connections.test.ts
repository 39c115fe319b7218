import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ConnectionCount } from '@gatehouse/shell/connection-count';
import { Neighbours } from '@gatehouse/shell/neighbours';
import { eventually } from '@gatehouse/test/eventually';
import { TenantServiceUnderTest } from './tenant-service.ts';

/** As in a process with several services: its pools share two connections for work of tenants. */
let service: TenantServiceUnderTest;
beforeAll(async () => {
  const neighbours = new Neighbours(['tenant'], { listen: true, connections: new ConnectionCount(2) });
  service = await TenantServiceUnderTest.start({ overrides: { neighbours } });
});
afterAll(() => service.stop());

it('settings are found while tenants wait for all connections that they share', async () => {
  const { id } = await service.makeTenant();
  const busy = await Promise.all(Array.from({ length: 4 }, () => service.makeTenant()));
  await service.rows('begin');
  await service.rows('lock table tenant.audit_log in access exclusive mode');
  const waiting = busy.map(({ admin }) => service.call('GET', '/v1/audit-log', { as: admin }));
  await eventually(async () => expect(await service.waiting()).toBe(2));
  expect((await service.settings(id)).status).toBe('active');
  await service.rows('rollback');
  await Promise.all(waiting);
});
