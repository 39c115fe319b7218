import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { Answer, SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: SomeGateway;
beforeAll(async () => {
  gateway = await openGateway({ chats: 2 });
});
afterAll(async () => gateway.stop());

const messages = [{ role: 'user', content: 'Hello!' }];

interface Caller {
  user?: string;
  session?: string;
  model?: string;
}

function ask(tenant: TenantAccess, { user, session, model = 'small' }: Caller = {}): Promise<Answer> {
  return gateway.call('/v1/chat/completions', {
    key: tenant.userKey,
    body: { model, messages, max_tokens: 10 },
    headers: {
      ...(user !== undefined && { 'x-service-user-id': user }),
      ...(session !== undefined && { 'x-session-id': session }),
    },
  });
}

async function withPolicy(policy: Record<string, unknown>): Promise<TenantAccess> {
  const tenant = await gateway.makeTenant();
  await create(tenant, policy);
  return tenant;
}

async function create(tenant: TenantAccess, policy: Record<string, unknown>): Promise<void> {
  const answer = await gateway.call('/v1/policies', {
    key: tenant.adminKey,
    body: { name: 'people', ...policy },
  });
  expect(answer.status).toBe(201);
}

/** The statuses of requests, one after another. */
async function statuses(tenant: TenantAccess, callers: readonly Caller[]): Promise<number[]> {
  const found: number[] = [];
  for (const caller of callers) found.push((await ask(tenant, caller)).status);
  return found;
}

describe('a policy', () => {
  it('limits each user apart, on all replicas together, and says which', async () => {
    const tenant = await withPolicy({ per: 'user', limits: { requests_per_minute: 2 } });
    await gateway.untilSecond(5);
    const ada = { user: 'ada' };
    expect(await statuses(tenant, [ada, ada, ada, { user: 'grace' }, {}])).toEqual([200, 200, 429, 200, 200]);
    const refused = await ask(tenant, ada);
    expect(refused.headers.get('x-gateway-policy')).toBe('people');
    expect(refused.body).toMatchObject({
      error: {
        ...{ type: 'rate_limit_error', code: 'rate_limit_exceeded', param: 'policy:people' },
        message: expect.stringContaining('(user "ada")'),
      },
    });
  });

  it('keeps a budget of a user, with an override for another', async () => {
    const tenant = await withPolicy({
      ...{ per: 'user', budget: { usd: '0.000000000001', period: 'total' } },
      overrides: { grace: { budget_usd: '5.00' } },
    });
    const refused = await ask(tenant, { user: 'ada', model: 'priced' });
    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'insufficient_quota' } } });
    expect(refused.headers.get('x-should-retry')).toBe('false');
    expect((await ask(tenant, { user: 'grace', model: 'priced' })).status).toBe(200);
    await eventually(async () => {
      const [row] = await gateway.rows(
        'tenant',
        `select used::text from tenant.policy_counters where tenant_id = $1 and value = 'grace'`,
        [tenant.id],
      );
      expect(Number(row?.['used'] ?? 0)).toBeGreaterThan(0);
    });
  });

  it('counts a session as one of its user', async () => {
    const tenant = await withPolicy({ per: 'session', limits: { requests_per_minute: 1 } });
    await gateway.untilSecond(5);
    const [one, other] = [
      { user: 'ada', session: 's' },
      { user: 'grace', session: 's' },
    ];
    expect(await statuses(tenant, [one, one, other, { session: 's' }])).toEqual([200, 429, 200, 200]);
  });

  it('forbids a model, but not to a group', async () => {
    const tenant = await withPolicy({
      ...{ select: { models: ['sma*'] }, per: 'user', limits: { requests_per_minute: 0 } },
      overrides: { 'group:Research': { limits: { requests_per_minute: null } } },
    });
    const put = await gateway.call('/v1/users/grace', {
      ...{ key: tenant.adminKey, method: 'PUT', body: { groups: ['RESEARCH'] } },
    });
    expect(put.status).toBeLessThan(300);
    expect(await ask(tenant, { user: 'ada' })).toMatchObject({
      status: 403,
      body: { error: { type: 'permission_error', code: 'forbidden_by_policy', param: 'policy:people' } },
    });
    await eventually(async () => expect((await ask(tenant, { user: 'grace' })).status).toBe(200));
  });

  it('counts in the groups of a user', async () => {
    const tenant = await gateway.makeTenant();
    const put = await gateway.call('/v1/users/ada', {
      ...{ key: tenant.adminKey, method: 'PUT', body: { groups: ['eng', 'ops'] } },
    });
    expect(put.status).toBeLessThan(300);
    await create(tenant, { select: { groups: ['eng'] }, per: 'group', limits: { requests_per_minute: 1 } });
    await gateway.untilSecond(5);
    await eventually(async () => expect((await ask(tenant, { user: 'ada' })).status).toBe(429));
    expect((await ask(tenant, { user: 'grace' })).status).toBe(200);
  });

  it('holds within seconds of a change, and ends with its deletion', async () => {
    const tenant = await withPolicy({ limits: { requests_per_minute: 0 } });
    expect((await ask(tenant)).status).toBe(403);
    const change = (method: string, body?: unknown) =>
      gateway.call('/v1/policies/people', {
        ...{ key: tenant.adminKey, method, ...(body !== undefined && { body }) },
      });
    expect((await change('PATCH', { enabled: false })).status).toBe(200);
    await eventually(async () => expect((await ask(tenant)).status).toBe(200));
    expect((await change('PATCH', { enabled: true })).status).toBe(200);
    await eventually(async () => expect((await ask(tenant)).status).toBe(403));
    expect((await change('DELETE')).status).toBe(204);
    await eventually(async () => expect((await ask(tenant)).status).toBe(200));
  });

  it('of the owner counts each tenant apart', async () => {
    const [one, other] = [await gateway.makeTenant(), await gateway.makeTenant()];
    const body = { name: 'fair', tenants: [one.id, other.id], limits: { requests_per_minute: 1 } };
    const created = await gateway.call('/internal/v1/owner/policies', { key: gateway.ownerKey, body });
    expect(created.status).toBe(201);
    await gateway.untilSecond(5);
    const refused = async (tenant: TenantAccess) =>
      eventually(async () => {
        const answer = await ask(tenant);
        expect(answer.status).toBe(429);
        expect(answer.headers.get('x-gateway-policy')).toBe('owner:fair');
      });
    await refused(one);
    expect((await ask(other)).status).toBe(200);
    await refused(other);
  });
});
