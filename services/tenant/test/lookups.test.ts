import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { Browser } from './browser.ts';
import { Programs } from './programs.ts';
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
  await eventually(async () => expect(await service.waiting()).toBeGreaterThanOrEqual(2));
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
  await eventually(async () => expect(await service.waiting()).toBe(1));
  const all = Array.from({ length: 100 }, (_, n) => service.settings(tenants[n % 2]?.id ?? ''));
  const unknown = expect(service.settings(newId())).rejects.toMatchObject({ code: 'not_found' });
  // Long enough for statements of their own to begin to wait.
  await sleep(500);
  expect(await service.waiting()).toBe(1);
  await service.rows('rollback');
  await unknown;
  expect((await first).status).toBe('active');
  expect(new Set((await Promise.all(all)).map(({ status }) => status))).toEqual(new Set(['active']));
});

it('owners list their sessions while all connections of logins are busy', async () => {
  await service.rows('begin');
  await service.rows('lock table tenant.login_tickets in access exclusive mode');
  const login = new Browser(service).browse('/login/link', { form: { ticket: 'a'.repeat(43) } });
  await eventually(async () => expect(await service.waiting()).toBe(1));
  const listed = await service.call('GET', '/v1/me/sessions', { as: { role: 'owner', tenantId: null } });
  expect(listed.status).toBe(200);
  await service.rows('rollback');
  expect((await login).status).toBe(410);
});

it('requests that prove nothing, and other tenants, are served while keys of a tenant wait to be renewed', async () => {
  const [own, others] = [await programKey(), await programKey()];
  await service.rows('begin');
  await service.rows('select from tenant.api_keys where id = $1 for update', [own.person.id]);
  const renewals = Array.from({ length: 4 }, () => own.programs.renew(own.key));
  await eventually(async () => expect(await service.waiting()).toBeGreaterThanOrEqual(2));
  const ticket = { form: { ticket: 'a'.repeat(43) } };
  expect((await new Browser(service).browse('/login/link', ticket)).status).toBe(410);
  expect((await others.programs.renew(others.key)).status).toBe(200);
  await service.rows('rollback');
  const statuses = (await Promise.all(renewals)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
});

/** A person of a tenant of their own, with a key that they have given to a program. */
async function programKey() {
  const programs = new Programs(service, await service.makeTenant());
  const person = await programs.person();
  const { key } = await programs.keyOf(person.cookie);
  return { programs, person, key };
}
