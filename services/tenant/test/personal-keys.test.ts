import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { newKeyText } from '@gatehouse/identity/key-text';
import { createPool, withTenant } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import { findAllowance, insertOwnKey } from '../src/keys/personal-key-store.ts';
import { deleteOldLogins } from '../src/sessions/old-login-system-store.ts';
import type { IssuerBrowser } from './issuer-browser.ts';
import { IssuerGround } from './issuer-ground.ts';
import { newNetwork, Programs } from './programs.ts';
import type { As } from '@gatehouse/test/service-under-test';

let ground: IssuerGround;
let programs: Programs;
beforeAll(async () => {
  ground = await IssuerGround.start();
  const { main } = ground.issuers;
  main.metadata = { revocation_endpoint: `${main.url}/revoke` };
  programs = new Programs(ground.tenants, ground.acme);
});
afterAll(() => ground.stop());
afterEach(() => ground.mend());

/** The caller as the edge makes it of a session. */
async function callerOf(browser: IssuerBrowser): Promise<As> {
  const principal = await browser.principal();
  if (principal === undefined) throw new Error('there is no session');
  const { id: keyId, tenantId, tenantSlug, role, scopes, userId = null, sessionId } = principal;
  const rights = { role: role as 'user', scopes: scopes as never, boundUser: userId, userId };
  return { keyId, tenantId, tenantSlug, ...rights, ...(sessionId !== undefined && { sessionId }) };
}

/** The newest session of a key of a user, which this opens. */
async function sessionOf(keyId: string, text: string, user: string): Promise<As> {
  await programs.logIn(text);
  const as: As = { ...ground.acme.admin, role: 'user', keyId, boundUser: user, userId: user };
  const [session] = (await call(as, 'GET', 'sessions')).body.data;
  return { ...as, sessionId: session?.id ?? '' };
}

const call = (as: As, method: string, path: string, body?: unknown) =>
  ground.tenants.call(method, `/v1/me/${path}`, { as, ...(body !== undefined && { body }) });

const make = (as: As, fields: object = {}) => call(as, 'POST', 'api-keys', { name: 'Notebook', ...fields });

const setUserKeys = (fields: object) =>
  ground.tenants.call('PATCH', `/internal/v1/owner/tenants/${ground.acme.id}`, {
    body: { user_keys: fields },
  });

/** Resolves once a statement waits for a lock. */
const aStatementWaits = () =>
  eventually(async () => {
    const waiting = await ground.tenants.rows(
      `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    expect(waiting).toHaveLength(1);
  });

const dayMs = 24 * 3_600_000;

describe('the keys of a person', () => {
  it('are made, listed, rotated and revoked by the person alone, with the rights of the session', async () => {
    const { browser, sub } = await ground.logIn();
    const ada = await callerOf(browser);
    const made = await make(ada, { scopes: ['chat'] });
    expect([made.status, made.body]).toMatchObject([
      201,
      { name: 'Notebook', role: 'user', scopes: ['chat'], user_id: `main:${sub}`, created_by: ada.keyId },
    ]);
    const lifeMs = Date.parse(made.body.expires_at ?? '') - Date.now();
    expect(Math.round(lifeMs / dayMs)).toBe(90);
    const principal = { id: ada.keyId, role: 'user', scopes: ['chat'], userId: `main:${sub}` };
    expect(await programs.principalOf(made.body.key)).toMatchObject(principal);
    const mallory = await callerOf((await ground.logIn()).browser);
    expect((await call(mallory, 'GET', 'api-keys')).body.data).toEqual([]);
    for (const verb of ['rotate', 'revoke'])
      expect((await call(mallory, 'POST', `api-keys/${made.body.id}/${verb}`, {})).status).toBe(404);

    const rotated = await call(ada, 'POST', `api-keys/${made.body.id}/rotate`, { overlap_seconds: 60 });
    expect(rotated.body).toMatchObject({ status: 'expiring', key: expect.stringMatching(/^gwk_/) });
    for (const text of [made.body.key, rotated.body.key])
      expect(await programs.principalOf(text)).toBeDefined();
    expect((await call(ada, 'GET', 'api-keys')).body.data).toMatchObject([
      { id: made.body.id, program: false, status: 'expiring' },
    ]);
    const revoked = await call(ada, 'POST', `api-keys/${made.body.id}/revoke`, {});
    expect(revoked.body.status).toBe('revoked');
    expect(await programs.principalOf(rotated.body.key)).toBeUndefined();
    expect(await programs.changesOf(made.body.id)).toEqual(
      ['created', 'rotated', 'revoked'].map((change) => `api_key.${change} by ${ada.keyId}`),
    );
  });

  it('stand beside those of programs, which the person ends, and which the program alone renews', async () => {
    const { browser } = await ground.logIn();
    const ada = await callerOf(browser);
    const { key } = await programs.keyOf(`__Host-gatehouse=${browser.session ?? ''}`);
    const [listed] = (await call(ada, 'GET', 'api-keys')).body.data;
    expect(listed).toMatchObject({ program: true });
    const at = `api-keys/${listed?.id ?? ''}`;
    expect((await call(ada, 'POST', `${at}/rotate`, {})).body.error.code).toBe('key_revoked');
    expect((await call(ada, 'POST', `${at}/revoke`, {})).status).toBe(200);
    expect(await programs.principalOf(key)).toBeUndefined();
    const own = (await make(ada)).body.key;
    expect((await programs.renew(own)).body.error).toBe('invalid_grant');
    expect((await programs.browse('/login/key', { body: { key: own }, network: newNetwork() })).status).toBe(
      401,
    );
  });

  it('have no more rights than the caller and the tenant allow', async () => {
    const { browser } = await ground.logIn();
    const ada = await callerOf(browser);
    const few = { ...ada, scopes: ['chat'] as never };
    expect((await make(few)).body.scopes).toEqual(['chat']);
    expect((await make(few, { scopes: ['memory.read'] })).body.error.code).toBe('scope_missing');
    expect((await make(ada, { scopes: ['keys.write'] })).body.error.code).toBe('invalid_value');
    const at = (days: number) => new Date(Date.now() + days * dayMs).toISOString();
    expect((await make(ada, { expires_at: at(91) })).body.error).toMatchObject({ param: 'expires_at' });
    expect((await make(ada, { expires_at: at(-1) })).body.error).toMatchObject({ param: 'expires_at' });
    expect((await make(ada, { expires_at: at(1) })).status).toBe(201);
    await setUserKeys({ max: 3, max_days: 7 });
    const made = await make(ada);
    expect(Math.round((Date.parse(made.body.expires_at ?? '') - Date.now()) / dayMs)).toBe(7);
    expect((await make(ada)).body.error.code).toBe('limit_reached');
    await setUserKeys({ enabled: false });
    expect((await make(ada)).body.error.code).toBe('limit_reached');
    expect((await call(ada, 'POST', `api-keys/${made.body.id}/rotate`, {})).status).toBe(403);
    expect((await call(ada, 'POST', `api-keys/${made.body.id}/revoke`, {})).status).toBe(200);
    await setUserKeys({ enabled: true, max: 5, max_days: 90 });
  });

  it('are as many as the tenant allows, also for a second request at another replica', async () => {
    const { browser } = await ground.logIn();
    const ada = await callerOf(browser);
    await setUserKeys({ max: 1 });
    const { url: database } = ground.tenants.database;
    const log = createLogger('tenant', 'silent');
    const pool = createPool({ url: database, role: 'tenant_app', max: 1, log });
    const { keyId: parentId = '', sessionId = null } = ada;
    const user = { tenantId: ground.acme.id, userId: ada.userId ?? '' };
    const second = await withTenant(pool, user.tenantId, async (db) => {
      expect((await findAllowance(db, user)).has).toBe(0);
      const key = { ...user, ...newKeyText(), id: newId(), name: 'First', scopes: ['chat' as const] };
      const expiresAt = new Date(Date.now() + dayMs).toISOString();
      expect(await insertOwnKey(db, { ...key, expiresAt, parentId, sessionId })).not.toBeNull();
      const answer = make(ada);
      await aStatementWaits();
      return { answer };
    });
    expect((await second.answer).body.error.code).toBe('limit_reached');
    await pool.end();
    await setUserKeys({ max: 5 });
  });

  it('end with the mapping that gave the person the session, and with the key that made them', async () => {
    const { browser, sub } = await ground.logIn();
    const { key } = (await make(await callerOf(browser))).body;
    await ground.logIn({ sub, groups: [] });
    expect(await programs.principalOf(key)).toBeUndefined();

    const parent = await ground.tenants.makeKey(ground.acme.admin, { user_id: 'bob' });
    const bob: As = { ...ground.acme.admin, role: 'user', keyId: parent.id, boundUser: 'bob', userId: 'bob' };
    const rotate = (overlap: number) =>
      ground.tenants.call('POST', `/v1/api-keys/${parent.id}/rotate`, {
        as: ground.acme.admin,
        body: { overlap_seconds: overlap },
      });
    await rotate(60);
    // It isn't known by which of the two texts the caller came.
    const during = (await make(bob)).body;
    expect(Date.parse(during.expires_at ?? '') - Date.now()).toBeLessThan(61_000);
    await rotate(0);
    expect(await programs.principalOf(during.key)).toBeUndefined();
    const after = (await make(bob)).body;
    await ground.tenants.call('POST', `/v1/api-keys/${parent.id}/revoke`, {
      as: ground.acme.admin,
      body: {},
    });
    expect(await programs.principalOf(after.key)).toBeUndefined();
    expect((await make(bob)).body.error.code).toBe('key_revoked');
  });

  it('are not made by a session that has ended, nor once its key is rotated, whatever the edge has cached', async () => {
    const { id, key } = await ground.tenants.makeKey(ground.acme.admin, { user_id: 'carol' });
    const [ended, rotated] = [await sessionOf(id, key, 'carol'), await sessionOf(id, key, 'carol')];
    const made = (await make(ended)).body.key;
    expect(await programs.principalOf(made)).toBeDefined();
    expect((await call(ended, 'DELETE', `sessions/${ended.sessionId ?? ''}`)).status).toBe(204);
    expect((await make(ended)).body.error.code).toBe('key_revoked');
    expect((await make(rotated)).status).toBe(201);
    await ground.tenants.call('POST', `/v1/api-keys/${id}/rotate`, {
      ...{ as: ground.acme.admin, body: { overlap_seconds: 0 } },
    });
    expect((await make(rotated)).body.error.code).toBe('key_revoked');
    expect(await programs.principalOf(made)).toBeUndefined();
  });

  it('are not made with the secret that a rotation replaces meanwhile', async () => {
    const { id, key } = await ground.tenants.makeKey(ground.acme.admin, { user_id: 'eve' });
    const eve = await sessionOf(id, key, 'eve');
    const rotation = new Client({ connectionString: ground.tenants.database.adminUrl });
    await rotation.connect();
    try {
      await rotation.query('begin');
      await rotation.query('update tenant.api_keys set secret_sha256 = $2 where id = $1', [
        ...[id, randomBytes(32)],
      ]);
      const made = make(eve);
      await aStatementWaits();
      await rotation.query('commit');
      expect((await made).body.error.code).toBe('key_revoked');
    } finally {
      await rotation.end();
    }
  });

  it('are listed and not changed by a key that a person has made or given to a program, nor are sessions', async () => {
    const { browser } = await ground.logIn();
    const ada = await callerOf(browser);
    const { id, key } = (await make(ada)).body;
    const { key: ofProgram } = await programs.keyOf(`__Host-gatehouse=${browser.session ?? ''}`);
    for (const text of [key, ofProgram])
      expect(await programs.principalOf(text)).toMatchObject({ id: ada.keyId, confirmed: true });
    const { sessionId = '', ...rest } = ada;
    const confirmed: As = { ...rest, isConfirmed: true };
    expect((await call(confirmed, 'GET', 'api-keys')).body.data).toHaveLength(2);
    for (const [method, path, body] of [
      ['POST', 'api-keys', { name: 'For 90 days' }],
      ['POST', `api-keys/${id}/rotate`, {}],
      ['POST', `api-keys/${id}/revoke`, {}],
      ['DELETE', `sessions/${sessionId}`, undefined],
    ] as const) {
      const answer = await call(confirmed, method, path, body);
      expect([path, answer.status, answer.body.error.code]).toEqual([path, 403, 'role_missing']);
    }
    expect(await browser.principal()).toBeDefined();
    expect((await call(ada, 'GET', 'api-keys')).body.data).toHaveLength(2);
    const root = await ground.tenants.makeKey(ground.acme.admin, { user_id: 'dora' });
    expect((await programs.principalOf(root.key))?.confirmed).toBeUndefined();
  });

  it('are not for admins, and not for owners', async () => {
    const admin = await call(ground.acme.admin, 'GET', 'api-keys');
    expect(admin.body.error.code).toBe('acting_user_required');
    expect((await call({ role: 'owner' }, 'GET', 'api-keys')).status).toBe(403);
    // Before the body is checked.
    const odd = await call({ role: 'owner' }, 'POST', 'api-keys', { no_such_field: 1 });
    expect([odd.status, odd.body.error.code]).toEqual([403, 'role_missing']);
  });
});

/** The issuer reports a logout of a person, or of the session at the issuer. */
async function reportLogout(named: { sub: string } | { sid: string }): Promise<void> {
  const form = { logout_token: await ground.logoutToken(named) };
  const path = '/login/oidc/main/backchannel-logout';
  expect((await ground.browser().visit(path, { method: 'POST', form })).status).toBe(200);
}

/** Makes the look at a person due; the last answer and the last readable groups are so old. */
const due = (sub: string, { minutes = 12, hours = 0 }) =>
  ground.tenants.rows(
    `update tenant.logins set look_at = now(), looked_at = now() - make_interval(mins => $2),
       groups_read_at = now() - make_interval(hours => $3) where sub = $1`,
    [sub, minutes, hours],
  );

const giveNoRefreshToken = (sub: string) =>
  ground.tenants.rows('update tenant.logins set refresh_token = null, look_at = null where sub = $1', [sub]);

async function expire(sub: string): Promise<void> {
  await ground.tenants.rows(
    'delete from tenant.sessions where login_id in (select id from tenant.logins where sub = $1)',
    [sub],
  );
  await ground.tenants.rows(
    `update tenant.logins set expires_at = now() - interval '1 second' where sub = $1`,
    [sub],
  );
  const log = createLogger('tenant', 'silent');
  const pool = createPool({ url: ground.tenants.database.url, role: 'tenant_system', max: 1, log });
  // The service's own round may come first.
  await deleteOldLogins(pool, 1_000, 12 * 3_600);
  await pool.end();
}

describe('an own key of a person whose last login has ended lives for 12 hours more', () => {
  const hoursOf = async (id: string): Promise<number> => {
    const [row] = await ground.tenants.rows<{ hours: number }>(
      `select extract(epoch from expires_at - now())::float8 / 3600 as hours from tenant.api_keys where id = $1`,
      [id],
    );
    return row?.hours ?? 0;
  };

  it.each<[string, (sub: string) => Promise<unknown>]>([
    ['the issuer reports a logout', (sub) => reportLogout({ sub })],
    [
      'the issuer reports a logout, and gives no refresh tokens',
      async (sub) => {
        await giveNoRefreshToken(sub);
        await reportLogout({ sub });
      },
    ],
    [
      'the issuer has given no answer for an hour',
      (sub) => {
        ground.issuers.main.awayFor.add(sub);
        return due(sub, { minutes: 61 });
      },
    ],
    [
      'groups are unreadable for 72 hours',
      (sub) => {
        ground.issuers.main.renewals.set(sub, { groups: undefined, hasgroups: true });
        return due(sub, { hours: 73 });
      },
    ],
    [
      'a login without a refresh token is over',
      async (sub) => {
        await giveNoRefreshToken(sub);
        await expire(sub);
      },
    ],
  ])('once %s', async (_name, end) => {
    const { browser, sub } = await ground.logIn();
    const { id, key } = (await make(await callerOf(browser))).body;
    const short = await make(await callerOf(browser), {
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    expect(await hoursOf(id)).toBeGreaterThan(89 * 24);
    await end(sub);
    await eventually(async () => expect(await hoursOf(id)).toBeLessThanOrEqual(12));
    expect(await hoursOf(id)).toBeGreaterThan(11);
    expect(await hoursOf(short.body.id)).toBeLessThanOrEqual(1);
    expect(await programs.principalOf(key)).toBeDefined();
  });

  it('and as long as before while the person has another login', async () => {
    const sid = newId();
    const { browser, sub } = await ground.logIn({ sid });
    const { id } = (await make(await callerOf(browser))).body;
    await ground.logIn({ sub, sid: newId() });
    await reportLogout({ sid });
    expect(await browser.principal()).toBeUndefined();
    expect(await hoursOf(id)).toBeGreaterThan(89 * 24);
    await reportLogout({ sub });
    expect(await hoursOf(id)).toBeLessThanOrEqual(12);
  });
});

describe('the sessions of a person', () => {
  it('are listed with how they were opened, and ended by the person alone, with the refresh token', async () => {
    const { browser, sub } = await ground.logIn();
    const other = (await ground.logIn({ sub })).browser;
    const ada = await callerOf(browser);
    const { data } = (await call(ada, 'GET', 'sessions')).body;
    expect(data).toMatchObject([
      { current: false, opened_by: 'issuer' },
      { id: ada.sessionId, current: true, opened_by: 'issuer' },
    ]);
    const mallory = await callerOf((await ground.logIn()).browser);
    const path = `sessions/${data[0]?.id ?? ''}`;
    expect((await call(mallory, 'DELETE', path)).status).toBe(404);
    expect((await call(ada, 'DELETE', path)).status).toBe(204);
    expect(await other.principal()).toBeUndefined();
    expect(await browser.principal()).toBeDefined();
    expect((await call(ada, 'DELETE', path)).status).toBe(404);
    const before = ground.issuers.main.revocations.length;
    expect((await call(ada, 'DELETE', `sessions/${ada.sessionId ?? ''}`)).status).toBe(204);
    await eventually(() => expect(ground.issuers.main.revocations.length).toBeGreaterThan(before));
  });

  it('of an owner, and of a key, are those of the same key', async () => {
    const { key, id } = await ground.tenants.makeKey(ground.acme.admin, { user_id: newId() });
    await programs.logIn(key);
    const as: As = { ...ground.acme.admin, role: 'user', keyId: id };
    expect((await call(as, 'GET', 'sessions')).body.data).toMatchObject([
      { opened_by: 'key', current: false },
    ]);
    const owner = await callerOf((await ground.logIn({ groups: ['platform'] })).browser);
    const asOwner: As = { role: 'owner', keyId: owner.keyId ?? '' };
    const [session] = (await call(asOwner, 'GET', 'sessions')).body.data;
    expect(session).toMatchObject({ opened_by: 'issuer' });
    expect((await call(asOwner, 'DELETE', `sessions/${session?.id ?? ''}`)).status).toBe(204);
  });
});
