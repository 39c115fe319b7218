import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import type { Policy } from '@gatehouse/contract/policies';
import type { As } from '@gatehouse/test/service-under-test';
import { Programs } from './programs.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

/** Names of users and agents in what is stored: ids, whatever name was sent. */

let service: TenantServiceUnderTest;
let tenant: TestTenant;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start({
    settings: { PUBLIC_URL: 'https://gateway.example.com', CLI_KEY_TTL: '2h' },
  });
});
afterAll(() => service.stop());
beforeEach(async () => {
  tenant = await service.makeTenant();
  await call('PUT', '/v1/users/u-7', { aliases: ['Ada@example.com'] });
});

const call = (method: string, path: string, body?: object, as: As = tenant.admin) =>
  service.call(method, path, { as, ...(body !== undefined && { body }) });
const names = ['u-7', 'U-7', 'Ada@example.com', 'ada@EXAMPLE.com'];
/** The caller as the edge makes it of a key that is bound to the user. */
const asAda = (): As => ({ ...tenant.admin, role: 'user', boundUser: 'u-7', userId: 'u-7' });

describe('a provider key', () => {
  const create = (user_id: string | null, as?: As) =>
    call('POST', '/v1/provider-keys', { provider: 'openai', key: 'sk-12345678', user_id }, as);

  it.each(names)('for %s is for the user', async (name) => {
    expect(await create(name)).toMatchObject({ status: 201, body: { user_id: 'u-7' } });
    const chat = await service.peer('chat');
    const settings = await chat.call(
      'getTenantSettings',
      { tenantId: tenant.id, withProviderKeys: true, withPolicies: false },
      { deadlineMs: 5_000 },
    );
    expect(settings.providerKeys.map(({ userId }) => userId)).toEqual(['u-7']);
  });

  it('is added by a key bound to the user, by any name of the user', async () => {
    const as: As = { ...tenant.admin, boundUser: 'u-7', userId: 'u-7' };
    expect((await create('Ada@example.com', as)).status).toBe(201);
    expect(await create('bob', as)).toMatchObject({
      status: 403,
      body: { error: { code: 'user_mismatch' } },
    });
  });

  it('for a name outside the directory, or for none, stays as it was sent', async () => {
    for (const name of ['Bob', null]) expect((await create(name)).body).toMatchObject({ user_id: name });
  });
});

describe('an API key', () => {
  it.each(names)('for %s is bound to the user, and listed for every name', async (name) => {
    const created = await call('POST', '/v1/api-keys', { name: 'k', role: 'user', user_id: name });
    expect(created).toMatchObject({ status: 201, body: { user_id: 'u-7' } });
    for (const each of names) {
      const { body } = await call('GET', `/v1/api-keys?user_id=${encodeURIComponent(each)}`);
      expect(body.data.map(({ id }) => id)).toEqual([created.body.id]);
    }
  });

  it('from before the user had its name is listed, and others with a similar name are not', async () => {
    await service.rows(`update tenant.api_keys set user_id = 'ADA@example.com' where tenant_id = $1`, [
      tenant.id,
    ]);
    expect((await call('GET', '/v1/api-keys?user_id=u-7')).body.data).toHaveLength(1);
    await service.rows(`update tenant.api_keys set user_id = 'BOB' where tenant_id = $1`, [tenant.id]);
    expect((await call('GET', '/v1/api-keys?user_id=bob')).body.data).toHaveLength(0);
    expect((await call('GET', '/v1/api-keys?user_id=BOB')).body.data).toHaveLength(1);
  });
});

describe('the key of a program', () => {
  it('is bound to the user of the login, who sees and revokes it', async () => {
    const programs = new Programs(service, tenant);
    const person = await programs.person({ user_id: 'u-7' });
    // The session of a login that the directory has as an alias.
    await service.rows(`update tenant.sessions set user_id = 'ada@Example.com' where key_id = $1`, [
      person.id,
    ]);
    const { key } = await programs.keyOf(person.cookie);
    const id = await programs.idOf(key);
    const { body } = await call('GET', '/v1/me/api-keys', undefined, asAda());
    expect(body.data).toMatchObject([{ id, user_id: 'u-7' }]);
    expect((await call('POST', `/v1/me/api-keys/${id}/revoke`, {}, asAda())).status).toBe(200);
    expect(await programs.principalOf(key)).toBeUndefined();
  });

  it('from before the user had its name is the user’s, and never that of another one', async () => {
    const programs = new Programs(service, tenant);
    const person = await programs.person({ user_id: 'u-7' });
    const id = await programs.idOf((await programs.keyOf(person.cookie)).key);
    const bind = (name: string) =>
      service.rows('update tenant.api_keys set user_id = $2 where id = $1', [id, name]);
    const listed = async (user: string) =>
      (await call('GET', '/v1/me/api-keys', undefined, { ...asAda(), boundUser: user, userId: user })).body
        .data;
    await bind('ADA@example.com');
    expect(await listed('u-7')).toMatchObject([{ id }]);
    await bind('BOB');
    expect(await listed('bob')).toEqual([]);
    expect(await listed('BOB')).toMatchObject([{ id }]);
  });
});

describe('a policy', () => {
  let made = 0;
  const create = async (body: object, as?: As) =>
    (await call('POST', '/v1/policies', { name: `p-${(made += 1)}`, ...body }, as)) as unknown as {
      status: number;
      body: Policy & { error: { param: string } };
    };
  const present = async ({ id }: Policy): Promise<Policy> =>
    (await call('GET', `/v1/policies/${id}`)).body as unknown as Policy;

  it('selects users by their ids', async () => {
    const { body: policy } = await create({ select: { users: ['ADA@example.com', 'u-7', 'u*', 'Bob'] } });
    expect(policy.select.users).toEqual(['u-7', 'u*', 'Bob']);
    await call('PATCH', `/v1/policies/${policy.id}`, { select: { users: ['U-7'] } });
    expect((await present(policy)).select.users).toEqual(['u-7']);
  });

  it('has overrides and resets of users by their ids', async () => {
    const overrides = { 'ada@example.com': { note: 'a' }, 'group:Eng': {}, Bob: {} };
    const { body: policy } = await create({ per: 'user', overrides });
    expect(Object.keys(policy.overrides).toSorted()).toEqual(['Bob', 'group:Eng', 'u-7']);
    for (const name of names) {
      const path = `/v1/policies/${policy.id}/overrides/${encodeURIComponent(name)}`;
      expect((await call('PUT', path, { note: name })).status).toBe(200);
      expect((await present(policy)).overrides['u-7']).toMatchObject({ note: name });
      expect((await call('DELETE', path)).status).toBe(204);
      expect((await call('DELETE', path)).status).toBe(404);
    }
    await call('PATCH', `/v1/policies/${policy.id}`, { overrides: { 'Ada@example.com': {} } });
    expect(Object.keys((await present(policy)).overrides)).toEqual(['u-7']);
    await service.rows(
      `insert into tenant.policy_counters
         (tenant_id, id, policy_id, value, resource, window_start, used, removable_at)
       values ($1, $2, $3, 'u-7', 'budget', now() - interval '1 hour', 5, 'infinity')`,
      [tenant.id, newId(), policy.id],
    );
    await call('POST', `/v1/policies/${policy.id}/reset`, { value: 'Ada@example.com' });
    const [counter] = await service.rows(
      `select window_end <= now() as ended from tenant.policy_counters where policy_id = $1`,
      [policy.id],
    );
    expect(counter).toEqual({ ended: true });
  });

  it('refuses two overrides of one user', async () => {
    const twice = await create({ per: 'user', overrides: { 'u-7': {}, 'Ada@example.com': {} } });
    expect(twice).toMatchObject({ status: 400, body: { error: { param: 'overrides' } } });
  });

  it('loses an override from before the user had its name, by that name', async () => {
    const { body: policy } = await create({ per: 'user', overrides: { later: {} } });
    await call('PUT', '/v1/users/u-8', { aliases: ['later'] });
    const path = `/v1/policies/${policy.id}/overrides/later`;
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await present(policy)).overrides).toEqual({});
  });

  it('has overrides of agents by their ids', async () => {
    const agentId = newId();
    service.others.agents.push({ id: agentId, key: 'helpdesk', name: 'Helpdesk' });
    const { body: policy } = await create({ per: 'agent', overrides: { helpdesk: {}, unknown: {} } });
    expect(Object.keys(policy.overrides).toSorted()).toEqual([agentId, 'unknown'].toSorted());
    for (const name of ['Helpdesk', agentId]) {
      const path = `/v1/policies/${policy.id}/overrides/${name}`;
      expect((await call('PUT', path, { note: name })).status).toBe(200);
      expect((await present(policy)).overrides[agentId]).toMatchObject({ note: name });
      expect((await call('DELETE', path)).status).toBe(204);
    }
  });

  it('is refused while keys of agents can’t be looked up, and ids need no look-up', async () => {
    const { body: policy } = await create({ per: 'agent' });
    await service.others.of('agent').stop();
    try {
      const put = (name: string) => call('PUT', `/v1/policies/${policy.id}/overrides/${name}`, {});
      expect(await put('helpdesk')).toMatchObject({
        status: 503,
        body: { error: { code: 'service_unavailable' } },
      });
      expect((await put(newId())).status).toBe(200);
    } finally {
      await service.others.of('agent').restart();
    }
  });

  it('of the owner takes values as they are sent', async () => {
    const created = await service.call('POST', '/internal/v1/owner/policies', {
      body: { name: 'fair', per: 'agent', overrides: { helpdesk: {} } },
    });
    expect(Object.keys((created.body as unknown as Policy).overrides)).toEqual(['helpdesk']);
    await service.call('DELETE', '/internal/v1/owner/policies/fair');
  });
});
