import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { PolicyIndex, type RunFacts } from '@gatehouse/kit/policy-matching';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { openCounterKey } from '@gatehouse/secrets/counter-key';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { longestBlock } from '@gatehouse/test/longest-block';
import type { As } from '@gatehouse/test/service-under-test';
import { Replica, settlementOf } from './replica.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterAll(() => service.stop());

let tenant: TestTenant;
beforeEach(async () => {
  tenant = await service.makeTenant({ limits: { requests_per_minute: 100 } });
});

const create = async (name: string, body: Record<string, unknown>): Promise<string> => {
  const { status, body: made } = await service.call('POST', '/v1/policies', {
    ...{ as: tenant.admin, body: { name, ...body } },
  });
  expect(status).toBe(201);
  return made.id;
};

/** Policies, values and remaining amounts of the limits, without those of memory. */
async function limits(query = '', as: As = tenant.admin): Promise<unknown[][]> {
  const { status, body } = await service.call('GET', `/v1/limits${query}`, { as });
  expect(status).toBe(200);
  const listed = body as unknown as { limits: Record<string, unknown>[] };
  return listed.limits
    .filter(({ resource }) => !String(resource).startsWith('memory_'))
    .map(({ resource, window, policy, value, remaining }) => [resource, window, policy, value, remaining]);
}

const none: RunFacts = {
  ...{ userId: null, groups: [], agent: null, apiKeyId: null, sessionId: null, ownKey: false },
};

/** The id of a user's counter as chat has it. */
async function counterId(policyId: string, userId: string): Promise<string> {
  const peer = await service.peer('chat');
  const request = { tenantId: tenant.id, withPolicies: true };
  const { policies } = await peer.call('getTenantSettings', request, { deadlineMs: 5_000 });
  const sealed = policies.find(({ id }) => id === policyId)?.counterKey ?? Buffer.of();
  const names = { tenantId: tenant.id, policyId };
  const counterKey = openCounterKey(KeyRing.parse(service.identity.keyRing), names, sealed);
  const policy = { id: policyId, per: 'user' as const, select: {}, countsOwnKeys: true, counterKey };
  const [counter] = new PolicyIndex([policy]).matching({ ...none, userId }).countersOf(null);
  return counter?.id ?? '';
}

const ofTenant = ['requests', 'minute', null, null, 100];

describe('GET /v1/limits', () => {
  it('shows the limit of a policy before a larger one of the tenant, with what is spent and reserved', async () => {
    const id = await create('people', {
      ...{ per: 'user', budget: { usd: '1', period: 'quarter' } },
      limits: { requests_per_minute: 60, max_concurrent: 5 },
    });
    const ada: As = { ...tenant.admin, role: 'user', boundUser: 'ada' };
    expect(await limits()).toEqual([ofTenant]);
    expect(await limits('', ada)).toEqual([
      ['requests', 'minute', 'people', 'ada', 60],
      ['concurrency', null, 'people', 'ada', 5],
      ['budget', 'quarter', 'people', 'ada', '1.000000000000'],
    ]);
    const replica = new Replica(service);
    const subjectId = await counterId(id, 'ada');
    const ask = (resource: Resource) => ({ subjectId, policyId: id, value: 'ada', resource });
    const [grant] = await replica.leaseTogether(
      tenant.id,
      [ask(Resource.BUDGET), ask(Resource.REQUESTS)],
      [{ 0: 700_000_000_000n, 1: 55n }],
    );
    if (grant === undefined) throw new Error('no grant');
    const charges = [{ subjectId, windowStart: grant.windowStart }];
    await replica.settle([{ ...settlementOf(tenant, replica, grant, 200_000_000_000n), charges }]);
    const { body } = await service.call('GET', '/v1/limits', { as: ada });
    const budget = (body as unknown as { limits: Record<string, unknown>[] }).limits.find(
      ({ resource }) => resource === 'budget',
    );
    expect(budget).toMatchObject({
      ...{ limit: '1.000000000000', used: '0.200000000000', policy: 'people', value: 'ada' },
    });
    expect(await limits('', { ...ada, boundUser: 'bob' })).toContainEqual([
      ...['requests', 'minute', 'people', 'bob', 60],
    ]);
  });

  it('has amounts by overrides, also of the groups of the directory, and by any name of the user', async () => {
    await create('people', {
      ...{ per: 'user', limits: { requests_per_minute: 10 } },
      overrides: {
        'group:Staff': { limits: { requests_per_minute: 30 } },
        bob: { limits: { requests_per_minute: null } },
      },
    });
    await service.call('PUT', '/v1/users/ada', {
      as: tenant.admin,
      body: { groups: ['Staff'], aliases: ['ada@example.com'] },
    });
    const ofAda = [['requests', 'minute', 'people', 'ada', 30]];
    expect(await limits('?user_id=ada')).toEqual(ofAda);
    expect(await limits('?user_id=ADA%40example.com')).toEqual(ofAda);
    expect(await limits('?user_id=bob')).toEqual([ofTenant]);
    expect(await limits('?user_id=eve')).toEqual([['requests', 'minute', 'people', 'eve', 10]]);
  });

  it('names models, agents and sessions if they are asked for', async () => {
    const agent = { id: newId(), key: 'helpdesk', name: 'Help' };
    service.others.agents.push(agent);
    const most = (requests: number) => ({ limits: { requests_per_minute: requests } });
    await create('forbidden', { select: { models: ['gpt-*'] }, ...most(0) });
    await create('by-agent', { select: { agents: ['help*'] }, per: 'agent', ...most(5) });
    await create('by-session', { per: 'session', ...most(7) });
    expect(await limits()).toEqual([ofTenant]);
    expect(await limits('?model=gpt-5')).toEqual([['requests', 'minute', 'forbidden', null, 0]]);
    expect(await limits('?model=claude')).toEqual([ofTenant]);
    expect(await limits(`?agent_id=${agent.id}`)).toEqual([['requests', 'minute', 'by-agent', agent.id, 5]]);
    expect(await limits(`?agent_id=${newId()}`)).toEqual([ofTenant]);
    expect(await limits('?user_id=ada&session_id=s')).toEqual([
      ['requests', 'minute', 'by-session', 'user:ada/s', 7],
    ]);
  });

  it('is shown for a run that counts in more counters than one call may', async () => {
    const names = Array.from({ length: 65 }, (_, n) => `team-${String(n).padStart(2, '0')}`);
    await create('teams', {
      ...{ per: 'group', select: { groups: ['team-*'] }, limits: { requests_per_minute: 9 } },
      overrides: { 'team-64': { limits: { requests_per_minute: 3 } } },
    });
    await service.call('PUT', '/v1/users/ada', { as: tenant.admin, body: { groups: names } });
    expect(await limits('?user_id=ada')).toEqual([['requests', 'minute', 'teams', 'team-64', 3]]);
  });

  it('holds up no other request for a user in as many counters as there may be', async () => {
    const groups = Array.from({ length: 100 }, (_, n) => `team-${n}`);
    await service.call('PUT', '/v1/users/ada', { as: tenant.admin, body: { groups } });
    for (let n = 0; n < 32; n += 1)
      await create(`teams-${n}`, {
        ...{ per: 'group', select: { groups: ['team-*'] }, budget: { usd: '1', period: 'day' } },
        limits: { requests_per_minute: 100 - n, tokens_per_minute: 100, max_concurrent: 5 },
      });
    const mostMs = 40;
    const read = async () =>
      expect(await limits('?user_id=ada')).toContainEqual(['requests', 'minute', 'teams-31', 'team-0', 69]);
    expect(await longestBlock(read, mostMs)).toBeLessThan(mostMs);
  });

  it('leaves out what refuses nothing, and other tenants', async () => {
    await create('watch', { budget: { usd: '1', period: 'hour' }, enforce: false });
    await create('off', { limits: { requests_per_minute: 1 }, enabled: false });
    const other = await service.makeTenant();
    expect(await limits()).toEqual([ofTenant]);
    await create('on', { limits: { requests_per_minute: 1 } });
    expect(await limits('', other.admin)).toEqual([]);
  });

  it("shows the owner's policies, with their overrides, as they count this tenant", async () => {
    const fair = { name: 'fair', tenants: [tenant.id], per: 'model', limits: { requests_per_minute: 9 } };
    const overrides = { 'gpt-5': { limits: { requests_per_minute: 3 } } };
    const made = await service.call('POST', '/internal/v1/owner/policies', { body: { ...fair, overrides } });
    expect(await limits('?model=gpt-5')).toEqual([['requests', 'minute', 'owner:fair', 'gpt-5', 3]]);
    expect(await limits('?model=gpt-4')).toEqual([['requests', 'minute', 'owner:fair', 'gpt-4', 9]]);
    await service.call('DELETE', `/internal/v1/owner/policies/${made.body.id}`);
  });

  it('is of another for admins of policies alone, and then without limits of the key', async () => {
    const key = await service.makeKey(tenant.admin, { limits: { requests_per_minute: 2 } });
    const as: As = { ...tenant.admin, keyId: key.id };
    expect(await limits('', as)).toEqual([['requests', 'minute', null, null, 2]]);
    expect(await limits('?user_id=ada', as)).toEqual([ofTenant]);
    const user: As = { ...as, role: 'user' };
    expect(await limits('', user)).toHaveLength(1);
    expect(await service.call('GET', '/v1/limits?user_id=ada', { as: user })).toMatchObject({
      ...{ status: 403, body: { error: { code: 'scope_missing' } } },
    });
  });
});
