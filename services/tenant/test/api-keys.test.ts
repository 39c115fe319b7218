import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { scopesOf } from '@gatehouse/contract/scopes';
import { parseKeyText } from '@gatehouse/identity/key-text';
import { newId } from '@gatehouse/kit/ids';
import type { As } from '@gatehouse/test/service-under-test';
import { TenantServiceUnderTest, type AnswerBody, type TestTenant } from './tenant-service.ts';

let tenants: TenantServiceUnderTest;
let tenant: TestTenant;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
  tenant = await tenants.makeTenant();
});
afterAll(() => tenants.stop());

const create = (body: Record<string, unknown>, as: As = tenant.admin) =>
  tenants.call('POST', '/v1/api-keys', { as, body: { name: 'A key', role: 'user', ...body } });

describe('creating an API key', () => {
  it('answers with the key object and, this once, its text', async () => {
    const answer = await create({
      name: 'Laptop',
      user_id: 'ann@example.com',
      limits: { requests_per_minute: 60, tokens_per_minute: null },
      budget: { usd: '12.50', period: 'month' },
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe(`/v1/api-keys/${answer.body.id}`);
    expect(answer.body).toMatchObject({
      name: 'Laptop',
      role: 'user',
      scopes: scopesOf('user'),
      user_id: 'ann@example.com',
      status: 'active',
      limits: { requests_per_minute: 60 },
      budget: { usd: '12.50', period: 'month' },
      created_by: tenant.admin.keyId,
      last_used_at: null,
      expires_at: null,
      revoked_at: null,
    });
    expect(answer.body.key.startsWith(`${answer.body.prefix}_`)).toBe(true);
  });

  it('keeps a hash of the secret and never shows the secret again', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin);
    const secret = key.slice(-43);
    const [row] = await tenants.rows<{ text: string; secret_sha256: Buffer }>(
      'select api_keys::text as text, secret_sha256 from tenant.api_keys where id = $1',
      [id],
    );
    expect(row?.secret_sha256).toEqual(parseKeyText(key)?.secretSha256);
    expect(row?.text).not.toContain(secret);
    for (const path of ['/v1/api-keys', `/v1/api-keys/${id}`]) {
      const text = JSON.stringify((await tenants.call('GET', path, { as: tenant.admin })).body);
      expect(text).toContain(key.slice(0, 20));
      expect(text).not.toContain(secret);
      expect(text).not.toContain(row?.secret_sha256.toString('hex') ?? '');
    }
    const revoked = await tenants.call('POST', `/v1/api-keys/${id}/revoke`, { as: tenant.admin });
    expect(JSON.stringify(revoked.body)).not.toContain(secret);
  });

  it('gives the requested scopes, each once, and by default all of the role', async () => {
    expect((await create({ scopes: ['memory.read', 'chat', 'chat'] })).body.scopes).toEqual([
      'chat',
      'memory.read',
    ]);
    expect((await create({ scopes: [] })).body.scopes).toEqual([]);
    expect((await create({ role: 'admin' })).body.scopes).toEqual(scopesOf('admin'));
  });

  it('refuses a scope beyond the role, naming the field', async () => {
    const answer = await create({ scopes: ['chat', 'agents.write'] });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code: 'invalid_value', param: 'scopes' });
  });

  it('refuses to give a scope that the creating key lacks', async () => {
    const lesser: As = { ...tenant.admin, scopes: ['keys.write', 'chat', 'memory.write'] };
    const wide = await create({ role: 'admin' }, lesser);
    expect(wide.status).toBe(403);
    expect(wide.body.error).toMatchObject({ code: 'scope_missing', type: 'permission_error' });
    // A write scope includes reading, so it can be given as reading.
    expect((await create({ scopes: ['chat', 'memory.read'] }, lesser)).status).toBe(201);
    expect((await create({ scopes: ['agents.read'] }, lesser)).status).toBe(403);
  });

  it('lets a key bound to a user make keys for that user only', async () => {
    const bound: As = { ...tenant.admin, boundUser: 'ann' };
    expect((await create({ user_id: 'ann' }, bound)).status).toBe(201);
    for (const body of [{ user_id: 'bob' }, {}]) {
      const answer = await create(body, bound);
      expect(answer.status).toBe(403);
      expect(answer.body.error.code).toBe('user_mismatch');
    }
  });

  it('refuses an end that has passed, and keeps one to come in UTC', async () => {
    const past = await create({ expires_at: '2020-01-01T00:00:00Z' });
    expect(past.status).toBe(400);
    expect(past.body.error).toMatchObject({ code: 'invalid_value', param: 'expires_at' });
    const future = await create({ expires_at: '2090-01-01T02:00:00+02:00' });
    expect(future.body.expires_at).toBe('2090-01-01T00:00:00.000Z');
  });

  it.each([
    [{ name: undefined }, 'missing_required_parameter', 'name'],
    [{ name: 7 }, 'invalid_type', 'name'],
    [{ name: '' }, 'invalid_value', 'name'],
    [{ name: 'a\u0000b' }, 'invalid_value', 'name'],
    [{ role: 'owner' }, 'invalid_value', 'role'],
    [{ scopes: ['everything'] }, 'invalid_value', 'scopes[0]'],
    [{ scopes: 'chat' }, 'invalid_type', 'scopes'],
    [{ user_id: 'zoë' }, 'invalid_value', 'user_id'],
    [{ expires_at: 'tomorrow' }, 'invalid_value', 'expires_at'],
    [{ limits: { requests_per_second: 1 } }, 'unknown_parameter', 'limits.requests_per_second'],
    [{ budget: { usd: 5, period: 'month' } }, 'invalid_type', 'budget.usd'],
    [{ tenant_id: newId() }, 'unknown_parameter', 'tenant_id'],
  ])('answers %j with a 400 %s naming %s', async (body, code, param) => {
    const answer = await create(body);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code, param, type: 'invalid_request_error' });
  });

  it.each(['null', '[]', '"key"', '{', ''])('answers the body %j with a 400', async (text) => {
    const answer = await tenants.call('POST', '/v1/api-keys', { as: tenant.admin, text });
    expect(answer.status).toBe(400);
  });

  it('accepts a body of JSON only', async () => {
    const answer = await tenants.call('POST', '/v1/api-keys', {
      as: tenant.admin,
      text: 'name=x',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(answer.status).toBe(415);
  });
});

describe('listing API keys', () => {
  it('pages from the newest to the oldest, and inserts do not shift a page', async () => {
    const other = await tenants.makeTenant();
    const made: string[] = [];
    for (let count = 0; count < 4; count += 1) made.unshift((await tenants.makeKey(other.admin)).id);
    const first = await tenants.call('GET', '/v1/api-keys?limit=2', { as: other.admin });
    expect(idsOf(first.body)).toEqual(made.slice(0, 2));
    expect(first.body.has_more).toBe(true);
    await tenants.makeKey(other.admin);
    const cursor = encodeURIComponent(String(first.body.next_cursor));
    const second = await tenants.call('GET', `/v1/api-keys?limit=2&cursor=${cursor}`, { as: other.admin });
    expect(idsOf(second.body)).toEqual(made.slice(2));
    const rest = encodeURIComponent(String(second.body.next_cursor));
    const third = await tenants.call('GET', `/v1/api-keys?cursor=${rest}`, { as: other.admin });
    expect(third.body).toMatchObject({
      has_more: false,
      next_cursor: null,
      data: [{ name: 'First admin key' }],
    });
  });

  it('lists those of one user', async () => {
    const other = await tenants.makeTenant();
    const { id } = await tenants.makeKey(other.admin, { user_id: 'ada' });
    await tenants.makeKey(other.admin, { user_id: 'grace' });
    const found = await tenants.call('GET', '/v1/api-keys?user_id=ada', { as: other.admin });
    expect(idsOf(found.body)).toEqual([id]);
    const none = await tenants.call('GET', '/v1/api-keys?user_id=ada', { as: tenant.admin });
    expect(idsOf(none.body)).toEqual([]);
  });

  it.each([
    ['cursor=nonsense', 'invalid_cursor', 'cursor'],
    ['cursor=eyJ2IjoxLCJiZWZvcmUiOiJ4In0', 'invalid_cursor', 'cursor'],
    ['limit=0', 'invalid_value', 'limit'],
    ['limit=201', 'invalid_value', 'limit'],
    ['limit=ten', 'invalid_type', 'limit'],
    ['limit=1&limit=2', 'invalid_value', 'limit'],
    ['role=admin', 'unknown_parameter', 'role'],
  ])('answers ?%s with a 400 %s naming %s', async (query, code, param) => {
    const answer = await tenants.call('GET', `/v1/api-keys?${query}`, { as: tenant.admin });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code, param });
  });
});

describe('a single API key', () => {
  it("answers another tenant's id, an unknown id and a malformed one alike", async () => {
    const other = await tenants.makeTenant();
    const { id } = await tenants.makeKey(other.admin);
    for (const [method, action] of [
      ['GET', ''],
      ['POST', '/revoke'],
      ['POST', '/rotate'],
    ] as const) {
      const bodies = [];
      for (const wrong of [id, newId(), 'not-an-id', '%00', `${id}x`]) {
        const answer = await tenants.call(method, `/v1/api-keys/${wrong}${action}`, { as: tenant.admin });
        expect(answer.status).toBe(404);
        bodies.push({ ...answer.body.error, request_id: '' });
      }
      expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    }
    const untouched = await tenants.call('GET', `/v1/api-keys/${id}`, { as: other.admin });
    expect(untouched.body).toMatchObject({ id, status: 'active' });
  });

  it('is found by its id in capital letters too', async () => {
    const { id } = await tenants.makeKey(tenant.admin);
    const answer = await tenants.call('GET', `/v1/api-keys/${id.toUpperCase()}`, { as: tenant.admin });
    expect(answer.body.id).toBe(id);
  });

  it('is revoked once: again changes nothing', async () => {
    const { id } = await tenants.makeKey(tenant.admin);
    const first = await tenants.call('POST', `/v1/api-keys/${id}/revoke`, { as: tenant.admin });
    expect(first.body).toMatchObject({ id, status: 'revoked', revoked_at: expect.any(String) });
    const again = await tenants.call('POST', `/v1/api-keys/${id}/revoke`, { as: tenant.admin, body: {} });
    expect(again.body).toEqual(first.body);
    const odd = await tenants.call('POST', `/v1/api-keys/${id}/revoke`, {
      as: tenant.admin,
      body: { why: 'lost' },
    });
    expect(odd.body.error).toMatchObject({ code: 'unknown_parameter', param: 'why' });
  });

  it('shows its status: revoked over expired over expiring over active', async () => {
    const { id } = await tenants.makeKey(tenant.admin);
    const show = async () =>
      (await tenants.call('GET', `/v1/api-keys/${id}`, { as: tenant.admin })).body.status;
    expect(await show()).toBe('active');
    await tenants.call('POST', `/v1/api-keys/${id}/rotate`, {
      as: tenant.admin,
      body: { overlap_seconds: 60 },
    });
    expect(await show()).toBe('expiring');
    await tenants.rows(`update tenant.api_keys set expires_at = now() - interval '1 s' where id = $1`, [id]);
    expect(await show()).toBe('expired');
    await tenants.call('POST', `/v1/api-keys/${id}/revoke`, { as: tenant.admin });
    expect(await show()).toBe('revoked');
  });
});

describe('rotating an API key', () => {
  const rotate = (id: string, body: unknown, as: As = tenant.admin) =>
    tenants.call('POST', `/v1/api-keys/${id}/rotate`, { as, body });

  it('gives a new secret and keeps id, prefix and rights', async () => {
    const made = await tenants.makeKey(tenant.admin, { scopes: ['chat'] });
    const answer = await rotate(made.id, {});
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ ...made, key: answer.body.key });
    expect(answer.body.key).not.toBe(made.key);
  });

  it.each([
    [{ overlap_seconds: -1 }, 'invalid_value'],
    [{ overlap_seconds: 86_401 }, 'invalid_value'],
    [{ overlap_seconds: 1.5 }, 'invalid_type'],
    [{ overlap_seconds: '60' }, 'invalid_type'],
    [{ overlap: 60 }, 'unknown_parameter'],
  ])('answers %j with a 400 %s', async (body, code) => {
    const { id } = await tenants.makeKey(tenant.admin);
    const answer = await rotate(id, body);
    expect(answer.status).toBe(400);
    expect(answer.body.error.code).toBe(code);
  });

  it('is refused for a revoked and for an expired key', async () => {
    const revoked = await tenants.makeKey(tenant.admin);
    await tenants.call('POST', `/v1/api-keys/${revoked.id}/revoke`, { as: tenant.admin });
    const expired = await tenants.makeKey(tenant.admin);
    await tenants.rows(`update tenant.api_keys set expires_at = now() where id = $1`, [expired.id]);
    for (const { id } of [revoked, expired]) {
      const answer = await rotate(id, {});
      expect(answer.status).toBe(409);
      expect(answer.body.error.code).toBe('key_revoked');
    }
  });

  it('never returns the text of a key with more rights than the caller’s', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin, { role: 'admin' });
    const lesser = await rotate(id, {}, { ...tenant.admin, scopes: ['keys.write'] });
    expect(lesser.status).toBe(403);
    expect(lesser.body.error.code).toBe('scope_missing');
    const bound = await rotate(id, {}, { ...tenant.admin, boundUser: 'ann' });
    expect(bound.body.error.code).toBe('user_mismatch');
    expect((await tenants.authenticate(key)).result?.$case).toBe('key');
  });
});

describe('whoami', () => {
  it('returns the key’s role, scopes and tenant', async () => {
    const as: As = { ...tenant.admin, role: 'user', scopes: ['chat'], boundUser: 'ann' };
    const answer = await tenants.call('GET', '/v1/whoami', { as });
    expect(answer.body).toEqual({
      key_id: tenant.admin.keyId,
      tenant_id: tenant.id,
      tenant_slug: tenant.slug,
      role: 'user',
      scopes: ['chat'],
      user_id: 'ann',
      toolsets: null,
      resource: null,
    });
  });

  it('returns no tenant for an owner key', async () => {
    const keyId = newId();
    const answer = await tenants.call('GET', '/v1/whoami', { as: { role: 'owner', keyId } });
    expect(answer.body).toEqual({
      key_id: keyId,
      tenant_id: null,
      tenant_slug: null,
      role: 'owner',
      scopes: scopesOf('owner'),
      user_id: null,
      toolsets: null,
      resource: null,
    });
  });
});

function idsOf(body: AnswerBody): string[] {
  return body.data.map((item) => item.id);
}
