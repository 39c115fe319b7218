import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { createPool } from '@gatehouse/pg/pool';
import { parseKeyText } from '@gatehouse/identity/key-text';
import { eventually } from '@gatehouse/test/eventually';
import type { Service } from '@gatehouse/shell/service';
import { oldDeviceLogins } from '../src/device-logins/device-login-system-store.ts';
import { oldProgramKeys } from '../src/device-logins/program-key-system-store.ts';
import { Programs } from './programs.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

const publicUrl = 'https://gateway.example.com';

let tenants: TenantServiceUnderTest;
let replica: Service;
let tenant: TestTenant;
let programs: Programs;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start({ settings: { PUBLIC_URL: publicUrl, CLI_KEY_TTL: '2h' } });
  replica = await tenants.startReplica();
  tenant = await tenants.makeTenant();
  programs = new Programs(tenants, tenant);
});
afterAll(async () => {
  await replica.stop();
  await tenants.stop();
});

describe('the key of a program', () => {
  it('ends with the key whose session confirmed it', async () => {
    const ada = await programs.person();
    const { key } = await programs.keyOf(ada.cookie);
    const { key: other } = await programs.keyOf((await programs.person()).cookie);
    expect(await programs.principalOf(key)).toBeDefined();
    await tenants.call('POST', `/v1/api-keys/${ada.id}/revoke`, { as: tenant.admin });
    expect(await programs.principalOf(key)).toBeUndefined();
    expect((await programs.renew(key)).body.error).toBe('invalid_grant');
    expect(await programs.principalOf(other)).toBeDefined();
  });

  it('ends likewise by a replica of the release before, which ends no other key', async () => {
    const revoked = await programs.person();
    const rotated = await programs.person();
    const [first, second] = [await programs.keyOf(revoked.cookie), await programs.keyOf(rotated.cookie)];
    await tenants.rows('update tenant.api_keys set revoked_at = coalesce(revoked_at, now()) where id = $1', [
      revoked.id,
    ]);
    expect(await programs.principalOf(first.key)).toBeUndefined();
    const rotate = (seconds: number) =>
      tenants.rows(
        `update tenant.api_keys set secret_sha256 = $2,
           previous_secret_sha256 = case when $3 > 0 then secret_sha256 end,
           previous_valid_until = case when $3 > 0 then now() + make_interval(secs => $3) end
         where id = $1 and tenant.api_key_status(api_keys) in ('active', 'expiring')`,
        [rotated.id, randomBytes(32), seconds],
      );
    await rotate(300);
    const end = (await programs.principalOf(second.key))?.expiresAt?.getTime() ?? Infinity;
    expect(end - Date.now()).toBeLessThanOrEqual(300_000);
    await rotate(0);
    expect(await programs.principalOf(second.key)).toBeUndefined();
  });

  it('counts as the key whose session confirmed it, so that limits and budgets hold for both together', async () => {
    const ada = await programs.person({ limits: { requests_per_minute: 1 } });
    const { key } = await programs.keyOf(ada.cookie);
    expect(await programs.principalOf(key)).toMatchObject({ id: ada.id });
    await eventually(async () => {
      const shown = await tenants.call('GET', `/v1/api-keys/${await programs.idOf(key)}`, {
        as: tenant.admin,
      });
      expect(shown.body).toMatchObject({ last_used_at: expect.any(String), limits: null });
    });
  });

  it('is not given for a login whose key was revoked meanwhile', async () => {
    const ada = await programs.person();
    const started = await programs.start();
    await programs.decide('allow', started.code, ada.cookie);
    await tenants.call('POST', `/v1/api-keys/${ada.id}/revoke`, { as: tenant.admin });
    expect(await programs.poll(started)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  it('is not given for a login whose session has ended meanwhile', async () => {
    const ada = await programs.person();
    const started = await programs.start();
    await programs.decide('allow', started.code, ada.cookie);
    await programs.browse('/logout', { form: {}, cookie: ada.cookie });
    expect(await programs.poll(started)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  it('confirms no further one, even in a session of its own', async () => {
    const ada = await programs.person();
    const { key } = await programs.keyOf(ada.cookie);
    const started = await programs.start();
    await programs.decide('allow', started.code, ada.cookie);
    await tenants.rows(
      `update tenant.sessions set key_id = k.id, key_secret_sha256 = k.secret_sha256
       from tenant.api_keys k where k.id = $1 and sessions.key_id = $2`,
      [await programs.idOf(key), ada.id],
    );
    expect(await programs.poll(started)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  it('lives no longer than the key whose session confirmed it, nor than the secret of that', async () => {
    const soon = new Date(Date.now() + 600_000).toISOString();
    const { seconds } = await programs.keyOf((await programs.person({ expires_at: soon })).cookie);
    expect(seconds).toBeLessThanOrEqual(600);
    const ada = await programs.person();
    const { key } = await programs.keyOf(ada.cookie);
    const rotate = (overlap_seconds: number) =>
      tenants.call('POST', `/v1/api-keys/${ada.id}/rotate`, { as: tenant.admin, body: { overlap_seconds } });
    await rotate(300);
    const expiry = (await programs.principalOf(key))?.expiresAt?.getTime() ?? Infinity;
    expect(expiry - Date.now()).toBeLessThanOrEqual(300_000);
    const renewed = await programs.renew(key);
    expect(renewed.body['expires_in']).toBeLessThanOrEqual(300);
    await rotate(300);
    expect(await programs.principalOf(String(renewed.body['access_token']))).toBeUndefined();
  });

  it('has the seconds that the database counts, whatever the clock of the replica says', async () => {
    const ada = await programs.person();
    const now = Date.now.bind(Date);
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + 30_000);
    const { key, seconds } = await programs.keyOf(ada.cookie);
    const renewed = await programs.renew(key);
    clock.mockRestore();
    for (const left of [seconds, Number(renewed.body['expires_in'])]) {
      expect(left).toBeGreaterThan(7_180);
      expect(left).toBeLessThanOrEqual(7_200);
    }
  });

  it('gets a new text for the present one, which stays valid for a while', async () => {
    const ada = await programs.person();
    const { key } = await programs.keyOf(ada.cookie);
    const id = await programs.idOf(key);
    await tenants.rows(`update tenant.api_keys set expires_at = now() + interval '1 minute' where id = $1`, [
      id,
    ]);
    const renewed = await programs.renew(key);
    expect(renewed).toMatchObject({ status: 200, body: { token_type: 'Bearer' } });
    expect(renewed.body['expires_in']).toBeGreaterThan(7_140);
    const next = String(renewed.body['access_token']);
    expect([await programs.principalOf(key), await programs.idOf(next)]).toEqual([expect.any(Object), id]);
    const changes = [`api_key.created by ${ada.id}`, `api_key.rotated by ${ada.id}`];
    expect(await programs.changesOf(id)).toEqual(changes);
    const again = await programs.renew(next);
    expect([again.status, again.body.error, again.headers.get('retry-after')]).toEqual([
      429,
      'slow_down',
      '60',
    ]);

    // A client that got no answer repeats with the text that it has.
    const pass = (interval: string) =>
      tenants.rows(
        `update tenant.api_keys set previous_valid_until = previous_valid_until - $2::interval where id = $1`,
        [id, interval],
      );
    await pass('2 minutes');
    const repeated = String((await programs.renew(key)).body['access_token']);
    expect(await programs.principalOf(key)).toBeUndefined();
    expect(await programs.principalOf(next)).toBeDefined();
    await pass('10 minutes');
    expect(await programs.principalOf(next)).toBeUndefined();
    expect(await programs.principalOf(repeated)).toBeDefined();
    expect((await programs.renew(next)).body.error).toBe('invalid_grant');
  });

  it('has its first use noted when its row was locked meanwhile', async () => {
    const ada = await programs.person();
    const { key: before } = await programs.keyOf(ada.cookie);
    const id = await programs.idOf(before);
    const key = String((await programs.renew(before)).body['access_token']);
    const used = async (): Promise<number> =>
      (await tenants.rows('select from tenant.api_keys where id = $1 and secret_used', [id])).length;
    await tenants.rows('begin');
    await tenants.rows('select from tenant.api_keys where id = $1 for update', [id]);
    expect(await programs.principalOf(key)).toBeDefined();
    // Longer than until the first write.
    await sleep(1_500);
    await tenants.rows('rollback');
    expect(await used()).toBe(0);
    await eventually(async () => expect(await used()).toBe(1));
  });

  it('ends when a text is renewed that was renewed before, and whose successor is used', async () => {
    const ada = await programs.person();
    const pass = (id: string, seconds: number) =>
      tenants.rows(
        `update tenant.api_keys set previous_valid_until = previous_valid_until - make_interval(secs => $2) where id = $1`,
        [id, seconds],
      );
    const renewal = async (text: string) => String((await programs.renew(text)).body['access_token']);
    const used = async (text: string) => {
      expect(await programs.principalOf(text)).toBeDefined();
      const noted = 'select from tenant.api_keys where key_id = $1 and secret_used';
      await eventually(async () =>
        expect(await tenants.rows(noted, [parseKeyText(text)?.keyId])).toHaveLength(1),
      );
    };
    // The text before the last renewal, and one from long ago.
    for (const renewals of [1, 2, 103]) {
      const { key } = await programs.keyOf(ada.cookie);
      const id = await programs.idOf(key);
      const texts = [key];
      for (let count = 0; count < renewals; count += 1) {
        texts.push(await renewal(texts.at(-1) ?? ''));
        await pass(id, 61);
      }
      await used(texts.at(-1) ?? '');
      // A text that the key never had ends nothing.
      const [head] = key.split(/_(?=[^_]{43}$)/);
      const forged = `${head ?? ''}_${'x'.repeat(43)}`;
      expect(await programs.renew(forged)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
      expect(await programs.principalOf(texts.at(-1) ?? '')).toBeDefined();

      const replaced = texts.at(renewals === 103 ? 4 : 0) ?? '';
      expect(await programs.renew(replaced)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
      expect(await programs.principalOf(texts.at(-1) ?? '')).toBeUndefined();
      expect((await programs.renew(texts.at(-1) ?? '')).status).toBe(400);
      const [last] = await tenants.rows(
        'select actor_role from tenant.audit_log where resource_id = $1 order by at desc limit 1',
        [id],
      );
      expect(last).toEqual({ actor_role: 'system' });
    }
    expect(await programs.principalOf(ada.key)).toBeDefined();
  });

  it('gives programs that renew at the same time a minute, though the new text is used', async () => {
    const { key } = await programs.keyOf((await programs.person()).cookie);
    const next = String((await programs.renew(key)).body['access_token']);
    expect(await programs.principalOf(next)).toBeDefined();
    expect((await programs.renew(key)).status).toBe(429);
    expect(await programs.principalOf(next)).toBeDefined();
  });

  it('is renewed for a month, and then confirmed again', async () => {
    const { key } = await programs.keyOf((await programs.person()).cookie);
    const id = await programs.idOf(key);
    const age = `update tenant.api_keys set created_at = now() - $2::interval where id = $1`;
    await tenants.rows(age, [id, '29 days 23 hours']);
    const renewed = await programs.renew(key);
    expect(renewed.body['expires_in']).toBeLessThanOrEqual(3_600);
    expect(renewed.body['expires_in']).toBeGreaterThan(3_500);
  });

  it('is renewed by one of two requests at once', async () => {
    const { key } = await programs.keyOf((await programs.person()).cookie);
    const { httpPort: port } = replica;
    const both = await Promise.all([programs.renew(key), programs.renew(key, { port })]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 429]);
  });

  it('is revoked by its text; other keys are not, and are not renewed', async () => {
    const ada = await programs.person();
    const { key } = await programs.keyOf(ada.cookie);
    const id = await programs.idOf(key);
    expect(await programs.send('/login/revoke', { token: key })).toMatchObject({ status: 200, body: {} });
    expect(await programs.principalOf(key)).toBeUndefined();
    expect(await programs.send('/login/revoke', { token: key })).toMatchObject({ status: 200 });
    expect(await programs.changesOf(id)).toEqual([expect.any(String), `api_key.revoked by ${ada.id}`]);
    const refused = await programs.send('/login/revoke', { token: ada.key });
    expect(refused).toMatchObject({ status: 400, body: { error: 'unsupported_token_type' } });
    expect((await programs.renew(ada.key)).body.error).toBe('invalid_grant');
    expect(await programs.principalOf(ada.key)).toBeDefined();
  });

  it('opens no session, which could confirm further keys', async () => {
    const { key } = await programs.keyOf((await programs.person()).cookie);
    expect((await programs.browse('/login/key', { body: { key } })).status).toBe(401);
  });

  it('of an owner is one of an owner, and none that keeps the platform open', async () => {
    const root = await tenants.call('POST', '/internal/v1/owner/api-keys', {
      body: { name: 'Root', role: 'owner' },
    });
    const { key } = await programs.keyOf(await programs.logIn(root.body.key));
    expect(await programs.principalOf(key)).toMatchObject({ role: 'owner', tenantId: '' });
    const last = await tenants.call('POST', `/internal/v1/owner/api-keys/${root.body.id}/revoke`);
    expect([last.status, last.body.error.code]).toEqual([409, 'last_owner_key']);
  });

  it('has the rights of its admin, bound to no user, as the session was', async () => {
    const admin = await programs.person({ role: 'admin', scopes: ['agents.write', 'keys.write'] });
    const { key, scope } = await programs.keyOf(admin.cookie);
    expect(scope).toBe('agents.write keys.write');
    expect(await programs.principalOf(key)).toMatchObject({ role: 'admin', userId: undefined });
  });

  it('replaces the oldest of twenty, and raises no event because it expires', async () => {
    const ada = await programs.person();
    const keys = [];
    for (let count = 0; count < 21; count += 1) keys.push((await programs.keyOf(ada.cookie)).key);
    const [oldest = '', next = ''] = keys;
    expect(await programs.principalOf(oldest)).toBeUndefined();
    expect(await programs.principalOf(next)).toBeDefined();
    const alerts = await tenants.rows(
      'select from tenant.api_keys where confirmed_by = $1 and expiry_alert_for is not null',
      [ada.id],
    );
    expect(alerts).toEqual([]);
  });

  it('is deleted a month after its end, and logins when their time is over', async () => {
    const { key } = await programs.keyOf((await programs.person()).cookie);
    const id = await programs.idOf(key);
    await programs.start();
    await tenants.rows(`update tenant.device_logins set expires_at = now() - interval '3 minutes'`);
    await tenants.rows(`update tenant.api_keys set expires_at = now() - interval '31 days' where id = $1`, [
      id,
    ]);
    const log = createLogger('tenant', 'silent');
    const pool = createPool({ url: tenants.database.url, role: 'tenant_system', max: 1, log });
    await deleteOldRows(pool, oldProgramKeys);
    await deleteOldRows(pool, oldDeviceLogins);
    await pool.end();
    const stored = () => tenants.rows('select from tenant.api_keys where id = $1', [id]);
    await eventually(async () => expect(await stored()).toEqual([]));
    await eventually(async () => expect(await tenants.rows('select from tenant.device_logins')).toEqual([]));
  });
});
