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

/** The amounts spent by the values of a policy, in millionths of a USD. */
async function spent(tenant: TenantAccess): Promise<Record<string, number>> {
  const answer = await gateway.call('/v1/policies/people/counters', { key: tenant.adminKey });
  const { data } = answer.body as { data: { value: string; spent_usd: string }[] };
  return Object.fromEntries(
    data.map(({ value, spent_usd: usd }) => [value, Math.round(Number(usd) * 1_000_000)]),
  );
}

/** An identity provider of a tenant. */
async function provisioning(tenant: TenantAccess) {
  const body = { name: 'Identity provider', role: 'admin', scopes: ['scim.write'] };
  const made = await gateway.call('/v1/api-keys', { key: tenant.adminKey, body });
  const { key } = made.body as { key: string };
  const send = async (method: string, path: string, sent: object): Promise<string> => {
    const headers = { 'content-type': 'application/scim+json' };
    const answer = await gateway.call(`/scim/v2${path}`, { key, method, headers, body: sent });
    expect(answer.status).toBeLessThan(300);
    return (answer.body as { id?: string } | undefined)?.id ?? '';
  };
  return {
    add: (path: string, resource: object) => send('POST', path, resource),
    replace: (path: string, value: object) => send('PATCH', path, { Operations: [{ op: 'replace', value }] }),
  };
}

describe('a user renamed or moved between groups in a month', () => {
  const ada = { user: 'ada', model: 'priced' };
  const monthly = { per: 'group', budget: { usd: '1', period: 'month' } };
  /** Lets the users of groups through alone, so that each answered request counts in a group. */
  const forMembers = (...groups: string[]) => ({
    ...{ name: 'members', per: 'user', limits: { requests_per_minute: 0 } },
    overrides: Object.fromEntries(
      groups.map((group) => [`group:${group}`, { limits: { requests_per_minute: null } }]),
    ),
  });
  const costOf = (byValue: Record<string, number>, value: string): number => {
    expect(byValue[value]).toBeGreaterThan(0);
    return byValue[value] ?? 0;
  };
  const answered = (tenant: TenantAccess, caller: Caller) =>
    eventually(async () => expect((await ask(tenant, caller)).status).toBe(200));

  /** The status of a request that a busy machine does not leave undecided. */
  const decided = (tenant: TenantAccess, caller: Caller) =>
    eventually(async () => {
      const { status } = await ask(tenant, caller);
      expect(status).not.toBe(503);
      return status;
    });

  it('leaves what it has spent with the group that it had', async () => {
    const tenant = await gateway.makeTenant();
    const move = async (group: string) => {
      const put = { key: tenant.adminKey, method: 'PUT', body: { groups: [group] } };
      expect((await gateway.call('/v1/users/ada', put)).status).toBeLessThan(300);
    };
    await move('eng');
    await create(tenant, { select: { groups: ['eng', 'sales'] }, ...monthly });
    await create(tenant, forMembers('eng', 'sales'));
    await answered(tenant, ada);
    const one = await eventually(async () => costOf(await spent(tenant), 'eng'));
    await move('sales');
    let requests = 1;
    const spend = async (runs: number) => {
      for (let run = 0; run < runs; run += 1) await answered(tenant, ada);
      requests += runs;
      return eventually(async () => {
        const { eng = 0, sales = 0 } = await spent(tenant);
        expect(eng + sales).toBe(requests * one);
        return { eng, sales };
      });
    };
    // Each replica hears of it by itself.
    await eventually(async () => {
      const before = await spend(1);
      expect(await spend(4)).toEqual({ eng: before.eng, sales: before.sales + 4 * one });
    });
  });

  it('counts on under its new name, and under the new name of its group', async () => {
    const tenant = await gateway.makeTenant();
    const { add, replace } = await provisioning(tenant);
    const user = await add('/Users', { externalId: 'oid-ada', userName: 'ada' });
    const group = await add('/Groups', { displayName: 'Research', members: [{ value: user }] });
    await create(tenant, { select: { groups: ['Research'] }, ...monthly });
    await create(tenant, forMembers('Research'));
    await answered(tenant, ada);
    const one = await eventually(async () => costOf(await spent(tenant), 'Research'));
    await replace(`/Groups/${group}`, { displayName: 'Science' });
    await replace(`/Users/${user}`, { userName: 'ada.lovelace' });
    // At no time are its users without the override, or their requests out of the budget.
    for (let request = 0; request < 20; request += 1) expect(await decided(tenant, ada)).toBe(200);
    await answered(tenant, { ...ada, user: 'ada.lovelace' });
    await eventually(async () => expect(await spent(tenant)).toEqual({ Science: 22 * one }));
    expect((await ask(tenant, { user: 'grace' })).status).toBe(403);
  });
});

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
