import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { Browser } from './browser.ts';
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

it('settings of many tenants are read by one statement at a time, own keys for providers too', async () => {
  const tenants = [await service.makeTenant(), await service.makeTenant()];
  await service.rows('begin');
  await service.rows('lock table tenant.provider_keys in access exclusive mode');
  const first = service.settings(tenants[0]?.id ?? '');
  const waiting = async (): Promise<number> =>
    (await service.rows('select from pg_locks where not granted')).length;
  await eventually(async () => expect(await waiting()).toBe(1));
  const all = Array.from({ length: 100 }, (_, n) => service.settings(tenants[n % 2]?.id ?? ''));
  const unknown = expect(service.settings(newId())).rejects.toMatchObject({ code: 'not_found' });
  // Long enough for statements of their own to begin to wait.
  await sleep(500);
  expect(await waiting()).toBe(1);
  await service.rows('rollback');
  await unknown;
  expect((await first).status).toBe('active');
  expect(new Set((await Promise.all(all)).map(({ status }) => status))).toEqual(new Set(['active']));
});

it('owners list their sessions while all connections of logins are busy', async () => {
  await service.rows('begin');
  await service.rows('lock table tenant.login_tickets in access exclusive mode');
  const login = new Browser(service).browse('/login/link', { form: { ticket: 'a'.repeat(43) } });
  await eventually(async () => {
    expect(await service.rows('select from pg_locks where not granted')).toHaveLength(1);
  });
  const listed = await service.call('GET', '/v1/me/sessions', { as: { role: 'owner', tenantId: null } });
  expect(listed.status).toBe(200);
  await service.rows('rollback');
  expect((await login).status).toBe(410);
});
