import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { newKeyText } from '@gatehouse/identity/key-text';
import { createHash } from 'node:crypto';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { createPool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { upToLimit } from '@gatehouse/test/minute';
import { oldSessions } from '../src/sessions/session-system-store.ts';
import { Browser, cookieOf, ownPage, type Sent, type Shown } from './browser.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

const publicUrl = 'https://gateway.example.com';

let tenants: TenantServiceUnderTest;
let tenant: TestTenant;
let ownerKey: string;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start({ settings: { PUBLIC_URL: publicUrl } });
  tenant = await tenants.makeTenant();
  const made = await tenants.call('POST', '/internal/v1/owner/api-keys', {
    body: { name: 'Root', role: 'owner' },
  });
  ownerKey = made.body.key;
});
afterAll(() => tenants.stop());

let networks = 0;

const browse = (path: string, sent?: Sent): Promise<Shown> => new Browser(tenants).browse(path, sent);
const logIn = (key: string, cookie?: string): Promise<string> => new Browser(tenants).logIn(key, cookie);
const tokenOf = (cookie: string): string => cookie.split('=')[1] ?? '';

async function authenticate(cookie: string) {
  const tokenSha256 = createHash('sha256').update(tokenOf(cookie)).digest();
  const { key } = await (
    await tenants.peer('edge')
  ).call('authenticateSession', { tokenSha256 }, { deadlineMs: 5_000 });
  return key;
}

const auditOf = (id: string) =>
  tenants.rows<{ action: string; actor_key_id: string | null; client_ip: string | null }>(
    'select action, actor_key_id, client_ip from tenant.audit_log where resource_id = $1 order by at, action',
    [id],
  );

/** The session of a cookie, as it is stored. */
async function stored(cookie: string) {
  const [row] = await tenants.rows<{ id: string; lives: string; idle: string }>(
    `select id, expires_at - created_at as lives, ends_at - last_seen_at as idle from tenant.sessions
     where token_sha256 = $1`,
    [createHash('sha256').update(tokenOf(cookie)).digest()],
  );
  if (row === undefined) throw new Error('there is no such session');
  return row;
}

describe('POST /login/key', () => {
  it('sets a cookie that is a session with the rights of the key', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin, { scopes: ['chat'], user_id: 'ada' });
    const answer = await browse('/login/key', { body: { key } });
    expect(JSON.parse(answer.text)).toEqual({
      ...{ user_id: 'ada', name: 'A key', tenant: tenant.slug, role: 'user', scopes: ['chat'] },
      expires_at: expect.any(String),
    });
    expect(answer.headers.get('set-cookie')).toMatch(
      /^__Host-gatehouse=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure$/,
    );
    const cookie = cookieOf(answer.headers);
    const session = await stored(cookie);
    expect(await authenticate(cookie)).toMatchObject({
      ...{ id, sessionId: session.id, tenantId: tenant.id, tenantSlug: tenant.slug, tenantStatus: 'active' },
      ...{ role: 'user', scopes: ['chat'], userId: 'ada' },
    });
    expect(session).toMatchObject({ lives: { hours: 12 }, idle: { minutes: 30 } });
    expect(await auditOf(session.id)).toEqual([
      { action: 'session.created', actor_key_id: id, client_ip: '192.0.2.1' },
    ]);
    const dump = JSON.stringify(
      await tenants.rows('select * from tenant.sessions where id = $1', [session.id]),
    );
    expect(dump).not.toContain(tokenOf(cookie));
    expect(dump).not.toContain(key);
  });

  it('makes a session of an owner, who belongs to no tenant', async () => {
    const cookie = await logIn(ownerKey);
    expect(await authenticate(cookie)).toMatchObject({ role: 'owner', tenantId: '' });
    const { id } = await stored(cookie);
    const shown = await tenants.call('GET', '/v1/session', { as: { role: 'owner', sessionId: id } });
    expect(shown.body).toMatchObject({ tenant: null, role: 'owner', name: 'Root' });
    const out = await browse('/logout', { cookie });
    expect(out.status).toBe(303);
    expect(await authenticate(cookie)).toBeUndefined();
  });

  it.each([
    ['a stranger', () => newKeyText().text],
    ['a wrong secret', () => `${tenant.adminKey.slice(0, 21)}${'a'.repeat(43)}`],
    ['no key', () => 'password'],
  ])('answers %s with 401 for the client, and no cookie', async (_name, key) => {
    const answer = await browse('/login/key', { body: { key: key() } });
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
      401,
      { error: { code: 'invalid_api_key' } },
    ]);
    expect(answer.headers.get('x-gatehouse-signature-refused')).toBe('true');
    expect(answer.headers.has('set-cookie')).toBe(false);
  });

  it('bounds the wrong keys of a network, and lets its right ones in', async () => {
    networks += 1;
    const network = `198.51.100.${networks}`;
    const statuses = await upToLimit(
      60,
      async () => (await browse('/login/key', { body: { key: 'wrong' }, network })).status,
    );
    expect(new Set(statuses.slice(0, 60))).toEqual(new Set([401]));
    expect(statuses.at(-1)).toBe(429);
    const { key } = await tenants.makeKey(tenant.admin);
    expect((await browse('/login/key', { body: { key }, network })).status).toBe(200);
  });

  it('answers for a revoked key, and a suspended tenant, as the API does', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin);
    await tenants.call('POST', `/v1/api-keys/${id}/revoke`, { as: tenant.admin });
    expect((await browse('/login/key', { body: { key } })).status).toBe(401);
    const other = await tenants.makeTenant();
    await tenants.call('PATCH', `/internal/v1/owner/tenants/${other.id}`, { body: { status: 'suspended' } });
    const suspended = await browse('/login/key', { body: { key: other.adminKey } });
    expect([suspended.status, suspended.text]).toEqual([403, expect.stringContaining('tenant_suspended')]);
  });

  it.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of the site', { 'sec-fetch-site': 'same-site' }],
    ['another origin', { origin: 'https://example.com' }],
    ['no page', {}],
  ])('refuses a login and a logout by %s', async (_name, headers) => {
    const { key } = await tenants.makeKey(tenant.admin);
    const cookie = await logIn(key);
    for (const sent of [
      await browse('/login/key', { body: { key }, headers }),
      await browse('/login', { form: { key }, headers }),
      await browse('/logout', { cookie, headers }),
    ]) {
      expect([sent.status, sent.text]).toEqual([403, expect.stringContaining('cross_site_request')]);
      expect(sent.headers.has('set-cookie')).toBe(false);
    }
    expect(await authenticate(cookie)).toMatchObject({ role: expect.any(String) });
  });

  it('takes the origin of the gateway from browsers that do not say the site', async () => {
    const { key } = await tenants.makeKey(tenant.admin);
    expect((await browse('/login/key', { body: { key }, headers: { origin: publicUrl } })).status).toBe(200);
  });

  it.each([
    ['no JSON', { headers: { ...ownPage, 'content-type': 'text/plain' }, form: { a: '1' } }, 'invalid_json'],
    ['another field', { body: { key: 'a', role: 'owner' } }, 'unknown_parameter'],
    ['a number', { body: { key: 1 } }, 'invalid_type'],
    ['nothing', { body: {} }, 'missing_required_parameter'],
  ])('answers %s with 400', async (_name, sent, code) => {
    const answer = await browse('/login/key', sent);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(code)]);
  });

  it('takes no token that the browser brings: the old session ends, and the new one has a new token', async () => {
    const { key } = await tenants.makeKey(tenant.admin);
    const fixed = `__Host-gatehouse=${'f'.repeat(43)}`;
    const first = await logIn(key, fixed);
    expect(first).not.toBe(fixed);
    expect(await authenticate(fixed)).toBeUndefined();
    const second = await logIn(key, first);
    expect(await authenticate(first)).toBeUndefined();
    expect(await authenticate(second)).toMatchObject({ role: expect.any(String) });
  });

  it('ends the oldest session of a key beyond 20, and refuses more than ten logins a minute', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin);
    const cookies = [];
    for (let count = 0; count < 10; count += 1) cookies.push(await logIn(key));
    const refused = await browse('/login/key', { body: { key } });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    const age = `update tenant.sessions set created_at = created_at - interval '2 minutes' where key_id = $1`;
    await tenants.rows(age, [id]);
    for (let count = 0; count < 10; count += 1) cookies.push(await logIn(key));
    await tenants.rows(age, [id]);
    cookies.push(await logIn(key));
    const [oldest = '', next = ''] = cookies;
    expect(await authenticate(oldest)).toBeUndefined();
    expect(await authenticate(next)).toMatchObject({ role: expect.any(String) });
    const { id: session } = await stored(oldest);
    expect((await auditOf(session)).map(({ action }) => action)).toEqual([
      'session.created',
      'session.ended',
    ]);
  });

  it('refuses more than 60 logins of a key in an hour: each is in the audit log', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin);
    await logIn(key);
    await tenants.rows(
      `insert into tenant.sessions (id, tenant_id, token_sha256, key_id, key_secret_sha256, name, role, scopes,
         opened_by, created_at, expires_at, ends_at)
       select gen_random_uuid(), tenant_id, sha256(convert_to(key_id::text || n, 'UTF8')), key_id, key_secret_sha256, name, role, scopes,
         opened_by, now() - interval '50 minutes', now(), now() - interval '40 minutes'
       from tenant.sessions cross join generate_series(1, 59) as n where key_id = $1`,
      [id],
    );
    const refused = await browse('/login/key', { body: { key } });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '600']);
    await tenants.rows(
      `update tenant.sessions set created_at = created_at - interval '11 minutes' where key_id = $1`,
      [id],
    );
    await logIn(key);
  });
});

describe('the page for login', () => {
  const page = (path: string, cookie?: string) =>
    browse(path, { method: 'GET', headers: {}, ...(cookie === undefined ? {} : { cookie }) });

  it('has a field for a key and no script', async () => {
    const { status, headers, text } = await page('/login?return_to=/app/%3Fa%3D"><script>');
    expect(status).toBe(200);
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; /);
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(text).toContain('name="key"');
    expect(text).toContain('<title>Log in · Gatehouse</title>');
    expect(text).not.toContain('<script');
  });

  it('logs in, leads back to a path of the gateway, and says who is logged in', async () => {
    const { key } = await tenants.makeKey(tenant.admin, { name: '<b>Ada</b>' });
    const done = await browse('/login?return_to=%2Fapp%2Fkeys%3Fa%3Db', { form: { key: ` ${key} ` } });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/app/keys?a=b']);
    const { text } = await page('/login', cookieOf(done.headers));
    expect(text).toContain('&lt;b&gt;Ada&lt;/b&gt;');
    expect(text).toContain(tenant.slug);
    expect(text).toContain('href="/app/">Continue<');
    const onward = await page('/login?return_to=/app/usage%3Fby%3Dday', cookieOf(done.headers));
    expect(onward.text).toContain('href="/app/usage?by=day">Continue<');
    const out = await browse('/logout', { cookie: cookieOf(done.headers), form: {} });
    expect([out.status, out.headers.get('location')]).toEqual([303, '/login']);
    expect(out.headers.get('set-cookie')).toMatch(/^__Host-gatehouse=; Path=\/; Max-Age=0;/);
    expect((await page('/login', cookieOf(done.headers))).text).toContain('name="key"');
  });

  it('leads to no other site', async () => {
    const { key } = await tenants.makeKey(tenant.admin);
    const done = await browse('/login?return_to=%2F%5Cexample.com', { form: { key } });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/app/']);
  });

  it('shows the form again after a wrong key', async () => {
    const answer = await browse('/login', { form: { key: 'wrong' } });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('x-gatehouse-signature-refused')).toBe('true');
    expect(answer.text).toContain('role="alert"');
  });
});

describe('a session', () => {
  it('always has the way in which it was opened', async () => {
    const { id } = await stored(await logIn((await tenants.makeKey(tenant.admin)).key));
    const forgotten = tenants.rows('update tenant.sessions set opened_by = null where id = $1', [id]);
    await expect(forgotten).rejects.toMatchObject({ code: '23502', column: 'opened_by' });
  });

  it('ends with its key', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin);
    const cookie = await logIn(key);
    await tenants.call('POST', `/v1/api-keys/${id}/revoke`, { as: tenant.admin });
    expect(await authenticate(cookie)).toBeUndefined();
    const soon = new Date(Date.now() + 1_500);
    const expiring = await tenants.makeKey(tenant.admin, { expires_at: soon.toISOString() });
    const other = await logIn(expiring.key);
    expect(await authenticate(other)).toMatchObject({ expiresAt: soon });
    await eventually(async () => expect(await authenticate(other)).toBeUndefined());
  });

  it('ends with the secret that it was made with', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin);
    const cookie = await logIn(key);
    const as = tenant.admin;
    await tenants.call('POST', `/v1/api-keys/${id}/rotate`, { as, body: { overlap_seconds: 60 } });
    expect((await authenticate(cookie))?.expiresAt?.getTime()).toBeLessThan(Date.now() + 61_000);
    await tenants.call('POST', `/v1/api-keys/${id}/rotate`, { as, body: { overlap_seconds: 0 } });
    expect(await authenticate(cookie)).toBeUndefined();
  });

  it('ends after half an hour without a request, which a use puts off up to the end in all', async () => {
    const { key } = await tenants.makeKey(tenant.admin);
    const cookie = await logIn(key);
    const { id } = await stored(cookie);
    const set = (fields: string) => tenants.rows(`update tenant.sessions set ${fields} where id = $1`, [id]);
    await set(`last_seen_at = now() - interval '29 minutes', ends_at = now() + interval '1 minute'`);
    expect((await authenticate(cookie))?.expiresAt?.getTime()).toBeGreaterThan(Date.now() + 25 * 60_000);
    await eventually(async () => expect(await stored(cookie)).toMatchObject({ idle: { minutes: 30 } }));
    await set(`expires_at = now() + interval '10 minutes', ends_at = now() + interval '10 minutes',
      last_seen_at = now() - interval '2 minutes'`);
    expect(await authenticate(cookie)).toMatchObject({ role: expect.any(String) });
    await eventually(async () => {
      const [row] = await tenants.rows<{ same: boolean; fresh: boolean }>(
        `select ends_at = expires_at as same, last_seen_at > now() - interval '1 minute' as fresh
         from tenant.sessions where id = $1`,
        [id],
      );
      expect(row).toEqual({ same: true, fresh: true });
    });
    await set('ends_at = now()');
    expect(await authenticate(cookie)).toBeUndefined();
    const gone = await tenants.call('GET', '/v1/session', { as: { ...tenant.admin, sessionId: id } });
    expect([gone.status, gone.body.error.code]).toEqual([401, 'invalid_session']);
  });

  it('is listed and ended by admins of its tenant alone', async () => {
    const other = await tenants.makeTenant();
    const cookie = await logIn(other.adminKey);
    const { id } = await stored(cookie);
    const list = await tenants.call('GET', '/v1/sessions', { as: other.admin });
    expect(list.body.data).toMatchObject([{ id, role: 'admin' }]);
    expect((await tenants.call('GET', '/v1/sessions', { as: tenant.admin })).body.data).not.toContainEqual(
      expect.objectContaining({ id }),
    );
    const foreign = await tenants.call('DELETE', `/v1/sessions/${id}`, { as: tenant.admin });
    expect([foreign.status, foreign.body.error.code]).toEqual([404, 'not_found']);
    expect((await tenants.call('DELETE', `/v1/sessions/${id}`, { as: other.admin })).status).toBe(204);
    expect(await authenticate(cookie)).toBeUndefined();
    expect((await tenants.call('GET', '/v1/sessions', { as: other.admin })).body.data).toEqual([]);
    expect((await tenants.call('DELETE', `/v1/sessions/${id}`, { as: other.admin })).status).toBe(404);
    expect(await auditOf(id)).toMatchObject([
      { action: 'session.created' },
      { action: 'session.ended', actor_key_id: other.admin.keyId },
    ]);
  });

  it('is deleted once it has ended for as long as the logins of an hour are counted', async () => {
    const { key } = await tenants.makeKey(tenant.admin);
    const [open, ended, over] = [await logIn(key), await logIn(key), await logIn(key)];
    for (const [cookie, seconds] of [
      [ended, 3_500],
      [over, 3_700],
    ] as const)
      await tenants.rows(
        'update tenant.sessions set ends_at = now() - make_interval(secs => $2) where id = $1',
        [(await stored(cookie)).id, seconds],
      );
    const url = tenants.database.url;
    const pool = createPool({ url, role: 'tenant_system', max: 1, log: createLogger('test', 'silent') });
    try {
      await deleteOldRows(pool, oldSessions);
    } finally {
      await pool.end();
    }
    await expect(stored(over)).rejects.toThrow('no such session');
    expect((await stored(open)).id).not.toBe((await stored(ended)).id);
  });

  it('is not listed once its key is revoked', async () => {
    const other = await tenants.makeTenant();
    const { id, key } = await tenants.makeKey(other.admin);
    const cookie = await logIn(key);
    const listed = async () => (await tenants.call('GET', '/v1/sessions', { as: other.admin })).body.data;
    expect(await listed()).toMatchObject([{ id: (await stored(cookie)).id }]);
    await tenants.call('POST', `/v1/api-keys/${id}/revoke`, { as: other.admin });
    expect(await listed()).toEqual([]);
  });

  it('is checked for the edge alone, by a whole hash', async () => {
    const chat = await tenants.peer('chat');
    const request = { tokenSha256: Buffer.alloc(32) };
    await expect(chat.call('authenticateSession', request, { deadlineMs: 2_000 })).rejects.toMatchObject({
      code: 'caller_not_allowed',
    });
    const edge = await tenants.peer('edge');
    for (const tokenSha256 of [Buffer.alloc(0), Buffer.alloc(64)])
      expect(await edge.call('authenticateSession', { tokenSha256 }, { deadlineMs: 2_000 })).toEqual({
        key: undefined,
      });
  });
});
