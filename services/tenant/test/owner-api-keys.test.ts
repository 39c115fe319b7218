import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { scopesOf } from '@gatehouse/contract/scopes';
import { newId } from '@gatehouse/kit/ids';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let tenants: TenantServiceUnderTest;
let tenant: TestTenant;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
  tenant = await tenants.makeTenant();
});
afterAll(() => tenants.stop());

const path = '/internal/v1/owner/api-keys';
const create = (fields: Record<string, unknown>, as = {}) =>
  tenants.call('POST', path, { as: { role: 'owner', ...as }, body: { name: 'A key', ...fields } });
const revoke = (id: string) => tenants.call('POST', `${path}/${id}/revoke`);
const list = async (query = '') => (await tenants.call('GET', `${path}?${query}`)).body.data;

/** Leaves no owner key active but those that the test makes. */
const endOwnerKeys = () => tenants.rows(`update tenant.api_keys set revoked_at = now() where role = 'owner'`);

describe('keys made by the owner', () => {
  it('are owner keys without a tenant', async () => {
    const keyId = newId();
    const { status, body } = await create({ role: 'owner' }, { keyId });
    expect(status).toBe(201);
    expect(body).toMatchObject({ tenant_id: null, scopes: scopesOf('owner'), created_by: keyId });
    expect(await tenants.authenticate(body.key)).toMatchObject({
      result: { $case: 'key', value: { id: body.id, tenantId: '', tenantStatus: '', role: 'owner' } },
    });
    expect((await create({ role: 'owner', tenant_id: null })).status).toBe(201);
  });

  it('or admin keys of a tenant', async () => {
    const { status, body } = await create({ role: 'admin', tenant_id: tenant.id.toUpperCase() });
    expect(status).toBe(201);
    expect(body).toMatchObject({ tenant_id: tenant.id, scopes: scopesOf('admin') });
    const seen = await tenants.call('GET', `/v1/api-keys/${body.id}`, { as: tenant.admin });
    expect(seen.status).toBe(200);
  });

  it.each([
    [{ role: 'owner', tenant_id: newId() }, 'invalid_value', 'tenant_id'],
    [{ role: 'admin' }, 'missing_required_parameter', 'tenant_id'],
    [{ role: 'admin', tenant_id: null }, 'missing_required_parameter', 'tenant_id'],
    [{ role: 'admin', tenant_id: newId() }, 'invalid_value', 'tenant_id'],
    [{ role: 'admin', tenant_id: 'acme' }, 'invalid_value', 'tenant_id'],
    [{ role: 'user' }, 'invalid_value', 'role'],
    [{ role: 'owner', scopes: ['chat'] }, 'invalid_value', 'scopes'],
    [{ role: 'owner', expires_at: '2020-01-01T00:00:00Z' }, 'invalid_value', 'expires_at'],
    [{ role: 'owner', user_id: 'ann' }, 'unknown_parameter', 'user_id'],
  ])('are refused for %j with a 400 %s naming %s', async (fields, code, param) => {
    const answer = await create(fields);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code, param });
  });

  it('give no scope that the creating owner key lacks', async () => {
    const answer = await create({ role: 'owner' }, { scopes: [] });
    expect(answer.status).toBe(403);
    expect(answer.body.error.code).toBe('scope_missing');
    expect((await create({ role: 'owner', scopes: [] }, { scopes: [] })).status).toBe(201);
    expect((await create({ role: 'admin', tenant_id: tenant.id }, { scopes: [] })).status).toBe(201);
  });
});

describe('the audit of keys', () => {
  it('shows owner and admin keys, and user keys only when asked for', async () => {
    const other = await tenants.makeTenant();
    const user = await tenants.makeKey(other.admin);
    await create({ role: 'owner' });
    expect(new Set((await list()).map((key) => key.role))).toEqual(new Set(['owner', 'admin']));
    expect(new Set((await list('role=owner')).map((key) => key.tenant_id))).toEqual(new Set([null]));
    expect((await list(`role=user&tenant_id=${other.id}`)).map((key) => key.id)).toEqual([user.id]);
    expect((await list(`tenant_id=${other.id}`)).map((key) => key.role)).toEqual(['admin']);
  });

  it('filters by status as it is shown', async () => {
    const other = await tenants.makeTenant();
    const ids: Record<string, string> = {};
    for (const status of ['active', 'expiring', 'expired', 'revoked'])
      ids[status] = (await tenants.makeKey(other.admin, { role: 'admin' })).id;
    const at = (status: string, action: string, body: unknown) =>
      tenants.call('POST', `/v1/api-keys/${ids[status] ?? ''}/${action}`, { as: other.admin, body });
    await at('expiring', 'rotate', { overlap_seconds: 60 });
    await at('revoked', 'revoke', {});
    await tenants.rows(`update tenant.api_keys set expires_at = now() where id = $1`, [ids['expired']]);
    for (const status of ['expiring', 'expired', 'revoked']) {
      const keys = await list(`tenant_id=${other.id}&status=${status}`);
      expect(keys.map((key) => [key.id, key.status])).toEqual([[ids[status], status]]);
    }
    expect((await list(`tenant_id=${other.id}&status=active`)).map((key) => key.id)).toContain(ids['active']);
  });

  it('finds keys unused since a time, never used ones included', async () => {
    const other = await tenants.makeTenant();
    const used = await tenants.makeKey(other.admin, { role: 'admin' });
    const stale = await tenants.makeKey(other.admin, { role: 'admin' });
    const touch = 'update tenant.api_keys set last_used_at = $2 where id = $1';
    await tenants.rows(touch, [used.id, '2026-06-01T00:00:00Z']);
    await tenants.rows(touch, [stale.id, '2026-01-01T00:00:00Z']);
    const since = encodeURIComponent('2026-03-01T00:00:00+01:00');
    const ids = (await list(`tenant_id=${other.id}&unused_since=${since}`)).map((key) => key.id);
    expect(ids).toContain(stale.id);
    expect(ids).not.toContain(used.id);
    expect(ids).toHaveLength(2);
  });

  it.each([
    ['role=root', 'role'],
    ['tenant_id=acme', 'tenant_id'],
    ['status=lost', 'status'],
    ['unused_since=yesterday', 'unused_since'],
    ['cursor=x', 'cursor'],
    ['user=ann', 'user'],
  ])('answers ?%s with a 400', async (query, param) => {
    const answer = await tenants.call('GET', `${path}?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.body.error.param).toBe(param);
  });
});

describe('revoking as the owner', () => {
  it('ends any key, once', async () => {
    const user = await tenants.makeKey(tenant.admin);
    const first = await revoke(user.id);
    expect(first.body).toMatchObject({ id: user.id, tenant_id: tenant.id, status: 'revoked' });
    expect((await revoke(user.id)).body).toEqual(first.body);
    for (const id of [newId(), 'nope']) expect((await revoke(id)).status).toBe(404);
  });

  it('spares the last active owner key', async () => {
    await endOwnerKeys();
    const last = (await create({ role: 'owner' })).body;
    const refused = await revoke(last.id.toUpperCase());
    expect(refused.status).toBe(409);
    expect(refused.body.error).toMatchObject({ code: 'last_owner_key', type: 'invalid_request_error' });
    expect((await tenants.authenticate(last.key)).result?.$case).toBe('key');

    const expired = (await create({ role: 'owner' })).body;
    await tenants.rows('update tenant.api_keys set expires_at = now() where id = $1', [expired.id]);
    expect((await revoke(last.id)).status).toBe(409);
    expect((await revoke(expired.id)).status).toBe(200);

    await create({ role: 'owner' });
    expect((await revoke(last.id)).status).toBe(200);
  });

  it('spares the last active owner key that does not expire', async () => {
    await endOwnerKeys();
    const forever = (await create({ role: 'owner' })).body;
    const expires = { role: 'owner', expires_at: '2099-01-01T00:00:00Z' };
    const [first, second] = [(await create(expires)).body, (await create(expires)).body];
    const refused = await revoke(forever.id);
    expect(refused.status).toBe(409);
    expect(refused.body.error.code).toBe('last_owner_key');
    expect((await revoke(first.id)).status).toBe(200);
    const another = (await create({ role: 'owner' })).body;
    expect((await revoke(forever.id)).status).toBe(200);

    // If all of them expire already, all but the last may go.
    await tenants.rows(`update tenant.api_keys set revoked_at = now() where id = $1`, [another.id]);
    const third = (await create(expires)).body;
    expect((await revoke(second.id)).status).toBe(200);
    expect((await revoke(third.id)).status).toBe(409);
  });

  it('leaves one of two owner keys that are revoked at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      await endOwnerKeys();
      const keys = [(await create({ role: 'owner' })).body, (await create({ role: 'owner' })).body];
      const answers = await Promise.all(keys.map((key) => revoke(key.id)));
      expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409]);
    }
  });
});
