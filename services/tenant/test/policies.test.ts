import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import type { Policy } from '@gatehouse/contract/policies';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import type { As } from '@gatehouse/test/service-under-test';
import { Replica, settlementOf } from './replica.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let service: TenantServiceUnderTest;
let tenant: TestTenant;
let other: TestTenant;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  [tenant, other] = [await service.makeTenant(), await service.makeTenant()];
});
afterAll(() => service.stop());

let made = 0;
const create = (body: Record<string, unknown> = {}, as: As = tenant.admin) =>
  service.call('POST', '/v1/policies', { as, body: { name: `p-${(made += 1)}`, ...body } });
const call = (method: string, path: string, body?: unknown, as: As = tenant.admin) =>
  service.call(method, `/v1/policies/${path}`, { as, ...(body !== undefined && { body }) });
const asOwner = (method: string, path: string, body?: unknown) =>
  service.call(method, `/internal/v1/owner/policies${path}`, { ...(body !== undefined && { body }) });

/** The policy in an answer, by the contract. */
const policyIn = ({ body }: { body: unknown }) => body as Policy;

const nothing = { users: [], groups: [], agents: [], api_keys: [], models: [] };

describe('a policy', () => {
  it('has defaults, is found by id and name, listed and audited', async () => {
    const created = await create({ name: 'everyone' });
    const { id, created_at } = policyIn(created);
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toBe(`/v1/policies/${id}`);
    expect(created.body).toEqual({
      ...{ id, name: 'everyone', select: nothing, per: null, limits: {}, budget: null, overrides: {} },
      ...{ alerts: [50, 80, 100], enforce: true, enabled: true },
      ...{ created_at: expect.any(String), updated_at: expect.any(String) },
      counts_since: created_at,
    });
    for (const name of [id, 'everyone'])
      expect(await call('GET', name)).toMatchObject({ status: 200, body: created.body });
    const list = await service.call('GET', '/v1/policies', { as: tenant.admin });
    expect(list.body.data).toContainEqual(created.body);
    expect((await call('GET', 'everyone', undefined, other.admin)).status).toBe(404);
    const audit = await service.call('GET', `/internal/v1/owner/audit-log?tenant_id=${tenant.id}`);
    expect(audit.body.data).toContainEqual(
      expect.objectContaining({ action: 'policy.created', before: null, after: created.body }),
    );
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['an unknown member', { limit: {} }, 'limit'],
    ['a member of select that is unknown', { select: { teams: ['a'] } }, 'select.teams'],
    ['a name that is no slug', { name: 'A' }, 'name'],
    ['a name like an id', { name: newId() }, 'name'],
    ['an unknown period', { budget: { usd: '1', period: 'minute' } }, 'budget.period'],
    ['an unknown per', { per: 'team' }, 'per'],
    ['groups without names', { per: 'group' }, 'select.groups'],
    ['a limit that refuses nothing', { enforce: false, limits: { max_concurrent: 1 } }, 'enforce'],
    ['nothing to count', { enforce: false }, 'enforce'],
    ['too much to select', { select: { users: manyNames(200, 250) } }, 'select'],
    ['33 patterns', { select: { models: manyPatterns(33) } }, 'select.models'],
    ['9 patterns of groups', { select: { groups: manyPatterns(9) } }, 'select.groups'],
    ['five stars', { select: { models: ['gpt-*', '*a*b*c*d*'] } }, 'select.models[1]'],
    ['overrides of no values', { overrides: { ada: {} } }, 'overrides'],
    ['a budget without a period', { per: 'user', overrides: { ada: { budget_usd: '1' } } }, 'overrides'],
    ['a session without its user', { per: 'session', overrides: { 'refactoring-1': {} } }, 'overrides'],
    ['an alert beyond the budget', { alerts: [101] }, 'alerts[0]'],
  ])('with %s is refused', async (_name, body, param) => {
    expect(await create(body)).toMatchObject({ status: 400, body: { error: { param } } });
  });

  it('has a name of its own among those of its tenant', async () => {
    expect((await create({ name: 'taken' })).status).toBe(201);
    const taken = { status: 409, body: { error: { code: 'policy_name_taken', param: 'name' } } };
    expect(await create({ name: 'taken' })).toMatchObject(taken);
    expect((await create({ name: 'free' })).status).toBe(201);
    expect(await call('PATCH', 'free', { name: 'taken' })).toMatchObject(taken);
    expect((await create({ name: 'taken' }, other.admin)).status).toBe(201);
  });

  it('is changed in part, and counts from then if it selects otherwise', async () => {
    const policy = policyIn(
      await create({ select: { users: ['ada'] }, budget: { usd: '1', period: 'day' } }),
    );
    const patched = await call('PATCH', policy.id, {
      budget: { usd: '2', period: 'day' },
      alerts: [90, 10, 90],
    });
    expect(patched.body).toEqual({
      ...{ ...policy, budget: { usd: '2', period: 'day' }, alerts: [10, 90] },
      updated_at: policyIn(patched).updated_at,
    });
    const selected = policyIn(await call('PATCH', policy.name, { select: { models: ['gpt-*'] } }));
    expect(selected.select).toEqual({ ...nothing, users: ['ada'], models: ['gpt-*'] });
    expect(Date.parse(selected.counts_since)).toBeGreaterThan(Date.parse(policy.counts_since));
    const same = policyIn(await call('PATCH', policy.id, { select: { users: ['ada', 'ada'] } }));
    expect(same.counts_since).toBe(selected.counts_since);
    expect(await call('PATCH', policy.id, { budget: { usd: '2', period: 'hour' } })).toMatchObject({
      ...{ status: 400, body: { error: { param: 'budget.period' } } },
    });
    const amount = policyIn(await call('PATCH', policy.id, { budget: { usd: '3' } }));
    expect(amount.budget).toEqual({ usd: '3', period: 'day' });
    await call('PATCH', policy.id, { limits: { requests_per_minute: 6, tokens_per_minute: 700 } });
    const free = policyIn(
      await call('PATCH', policy.id, {
        budget: null,
        limits: { max_concurrent: 5, tokens_per_minute: null },
      }),
    );
    expect(free.limits).toEqual({ requests_per_minute: 6, tokens_per_minute: null, max_concurrent: 5 });
    expect(await call('PATCH', policy.id, { budget: { usd: '2' } })).toMatchObject({
      status: 400,
      body: { error: { code: 'missing_required_parameter', param: 'budget.period' } },
    });
    expect(free.counts_since).toBe(selected.counts_since);
    const again = policyIn(await call('PATCH', policy.id, { budget: { usd: '2', period: 'hour' } }));
    expect(Date.parse(again.counts_since)).toBeGreaterThan(Date.parse(free.counts_since));
    for (const fixed of [{ per: 'user' }, { id: newId() }])
      expect((await call('PATCH', policy.id, fixed)).status).toBe(400);
    expect((await call('PATCH', newId(), { enabled: false })).status).toBe(404);
    expect((await call('PATCH', policy.id, { enabled: false }, other.admin)).status).toBe(404);
  });

  it('is reset, as a whole or for one value, and audited', async () => {
    const policy = policyIn(await create({ per: 'user', overrides: { ada: { note: 'x' } } }));
    const one = await call('POST', `${policy.name}/reset`, { value: 'ada' });
    expect(one).toMatchObject({ status: 200, body: policy });
    const all = policyIn(await call('POST', `${policy.id}/reset`, {}));
    expect(Date.parse(all.counts_since)).toBeGreaterThan(Date.parse(policy.counts_since));
    expect(all.overrides).toEqual(policy.overrides);
    const audit = await service.call('GET', '/v1/audit-log', { as: tenant.admin });
    const common = { name: policy.name, counts_since: policy.counts_since };
    expect(audit.body.data.slice(0, 2)).toMatchObject([
      { action: 'policy.reset', before: common, after: { counts_since: all.counts_since } },
      { action: 'policy.reset', before: common, after: { ...common, value: 'ada' } },
    ]);
    const { id } = policyIn(await create());
    expect(await call('POST', `${id}/reset`, { value: 'ada' })).toMatchObject({
      ...{ status: 400, body: { error: { param: 'value' } } },
    });
    expect((await call('POST', `${id}/reset`, {}, other.admin)).status).toBe(404);
    const user = { role: 'user', tenantId: tenant.id } as const;
    expect((await call('POST', `${id}/reset`, {}, user)).status).toBe(403);
  });

  it('selects by 32 patterns, eight of groups, with four stars', async () => {
    const select = { models: manyPatterns(32), groups: [...manyPatterns(8), 'Staff'] };
    expect((await create({ select })).status).toBe(201);
  });

  it('is deleted with its overrides', async () => {
    const { body: policy } = await create({ per: 'user', overrides: { ada: { note: 'x' } } });
    expect((await call('DELETE', policy.id, undefined, other.admin)).status).toBe(404);
    expect((await call('DELETE', policy.id)).status).toBe(204);
    expect((await call('DELETE', policy.id)).status).toBe(404);
    const rows = 'select from tenant.policy_overrides where policy_id = $1';
    expect(await service.rows(rows, [policy.id])).toEqual([]);
  });

  it('changes nothing in a dry run', async () => {
    const dry = await service.call('POST', '/v1/policies?dry_run=true', {
      as: tenant.admin,
      body: { name: 'dry' },
    });
    expect(dry).toMatchObject({ status: 201, body: { id: null, name: 'dry' } });
    expect((await call('GET', 'dry')).status).toBe(404);
  });

  it('is one of 32', async () => {
    const own = await service.makeTenant();
    for (let n = 0; n < 32; n += 1) expect((await create({}, own.admin)).status).toBe(201);
    expect(await create({}, own.admin)).toMatchObject({
      ...{ status: 403, body: { error: { code: 'limit_reached' } } },
    });
  });

  it('needs the scope', async () => {
    const user = { role: 'user', tenantId: tenant.id } as const;
    expect(await create({}, user)).toMatchObject({ status: 403, body: { error: { code: 'scope_missing' } } });
  });
});

describe('overrides', () => {
  it('are put, shown, replaced and deleted', async () => {
    const { body: policy } = await create({ per: 'user', budget: { usd: '1', period: 'total' } });
    const amounts = { budget_usd: null, limits: { requests_per_minute: 0, tokens_per_minute: null } };
    const until = '2030-01-01T00:00:00.000Z';
    const put = await call('PUT', `${policy.id}/overrides/a%2Fb`, { ...amounts, until, note: 'n' });
    expect(put).toMatchObject({ status: 200, body: { ...amounts, until, note: 'n' } });
    await call('PUT', `${policy.id}/overrides/group:eng`, { budget_usd: '5' });
    expect(policyIn(await call('GET', policy.id)).overrides).toEqual({
      ...{ 'a/b': put.body, 'group:eng': { budget_usd: '5', until: null, note: null } },
    });
    expect((await call('DELETE', `${policy.id}/overrides/a%2Fb`)).status).toBe(204);
    expect((await call('DELETE', `${policy.id}/overrides/a%2Fb`)).status).toBe(404);
    const patched = await call('PATCH', policy.id, { overrides: { grace: {} } });
    expect(policyIn(patched).overrides).toEqual({ grace: { until: null, note: null } });
    expect((await call('PUT', `${policy.id}/overrides/x`, {}, other.admin)).status).toBe(404);
    expect((await call('PUT', `${policy.id}/overrides/group:`, {})).status).toBe(400);
  });

  it('name groups in any case and spelling', async () => {
    const { body: policy } = await create({
      ...{ per: 'group', select: { groups: ['Eng*'] } },
      overrides: { 'Engine\u0301': { note: 'a' } },
    });
    expect(Object.keys(policyIn({ body: policy }).overrides)).toEqual(['Engine\u0301']);
    await call('PUT', `${policy.id}/overrides/ENG`, { note: 'b' });
    expect((await call('DELETE', `${policy.id}/overrides/eng`)).status).toBe(204);
    const [twice, users] = [
      { A: {}, a: {} },
      { 'group:Eng': {}, Ada: {} },
    ];
    const refused = { status: 400, body: { error: { param: 'overrides' } } };
    expect(await call('PATCH', policy.id, { overrides: twice })).toMatchObject(refused);
    const ofUsers = policyIn(await create({ per: 'user', overrides: users }));
    expect(Object.keys(ofUsers.overrides).toSorted()).toEqual(['Ada', 'group:Eng']);
  });

  it('name groups as they are called', async () => {
    const own = await service.makeTenant();
    await service.call('PUT', '/v1/users/ada', { as: own.admin, body: { groups: ['Engineering', 'Ops'] } });
    const overrides = {
      'group:ENGINEERING': { note: 'a' },
      'group:Others': { note: 'b' },
      OPS: { note: 'c' },
    };
    const created = policyIn(await create({ per: 'user', overrides }, own.admin));
    const shown = { 'group:Engineering': 'a', 'group:Others': 'b', OPS: 'c' };
    const notesIn = (policy: Policy) =>
      Object.fromEntries(Object.entries(policy.overrides).map(([value, { note }]) => [value, note]));
    expect(notesIn(created)).toEqual(shown);
    const put = await call('PUT', `${created.id}/overrides/group:oPS`, { note: 'd' }, own.admin);
    expect(put.status).toBe(200);
    const withOps = { ...shown, 'group:Ops': 'd' };
    expect(notesIn(policyIn(await call('GET', created.id, undefined, own.admin)))).toEqual(withOps);
    const patched = await call('PATCH', created.id, { overrides: created.overrides }, own.admin);
    expect(notesIn(policyIn(patched))).toEqual(shown);
    const groups = await create(
      { per: 'group', select: { groups: ['*'] }, overrides: { ops: {} } },
      own.admin,
    );
    expect(Object.keys(policyIn(groups).overrides)).toEqual(['Ops']);
    expect((await call('DELETE', `${groups.body.id}/overrides/Ops`, undefined, own.admin)).status).toBe(204);
  });

  it('name a session with its user or key, and resets too', async () => {
    const { id } = policyIn(await create({ per: 'session' }));
    const answers = async (value: string) => [
      await call('PUT', `${id}/overrides/${encodeURIComponent(value)}`, {}),
      await call('POST', `${id}/reset`, { value }),
    ];
    const known = ['user:ada%40corp.example/a/b', `key:${newId()}/s`, `sha256:${'a'.repeat(64)}`, newId()];
    for (const value of known) expect((await answers(value)).map(({ status }) => status)).toEqual([200, 200]);
    for (const value of ['refactoring-1', 'user:ada', 'user:ada/', 'user:ada@corp.example/s', 'key:x/s'])
      for (const answer of await answers(value))
        expect(answer).toMatchObject({ status: 400, body: { error: { param: 'value' } } });
  });

  it('of a policy are 10,000 at most, and a page ends before it has more', async () => {
    const own = await service.makeTenant();
    const [first, second] = [
      await create({ per: 'user' }, own.admin),
      await create({ per: 'user' }, own.admin),
    ];
    for (const { body } of [first, second])
      await service.rows(
        `insert into tenant.policy_overrides (policy_id, tenant_id, value, amounts)
         select $1, $2, 'u' || n, '{}' from generate_series(1, 10000) n`,
        [body.id, own.id],
      );
    const over = await call('PUT', `${first.body.id}/overrides/one-more`, {}, own.admin);
    expect(over).toMatchObject({ status: 403, body: { error: { code: 'limit_reached' } } });
    expect((await call('PUT', `${first.body.id}/overrides/u7`, {}, own.admin)).status).toBe(200);
    const page = await service.call('GET', '/v1/policies', { as: own.admin });
    expect(page.body).toMatchObject({ has_more: true, data: [{ id: second.body.id }] });
    const [shown] = page.body.data;
    expect(Object.keys(policyIn({ body: shown }).overrides)).toHaveLength(10_000);
    const rest = await service.call('GET', `/v1/policies?cursor=${page.body.next_cursor}`, { as: own.admin });
    expect(rest.body).toMatchObject({ has_more: false, data: [{ id: first.body.id }] });
  });
});

describe('a policy of the owner', () => {
  it('is seen by the admins of its tenants, and changed by the owner alone', async () => {
    const created = await asOwner('POST', '', { name: 'fair', tenants: [tenant.id], per: 'model' });
    expect(created).toMatchObject({ status: 201, body: { tenants: [tenant.id] } });
    const shown = await call('GET', 'owner:fair');
    expect(shown).toMatchObject({
      status: 200,
      body: { id: created.body.id, name: 'owner:fair', per: 'model' },
    });
    expect(shown.body).not.toHaveProperty('tenants');
    expect((await call('GET', 'owner:fair', undefined, other.admin)).status).toBe(404);
    expect((await call('PATCH', created.body.id, { enabled: false })).status).toBe(404);
    expect((await call('DELETE', created.body.id)).status).toBe(404);
    expect((await call('POST', 'owner:fair/reset', {})).status).toBe(404);
    expect((await asOwner('POST', '/fair/reset', { value: 'gpt-5' })).status).toBe(200);
    expect((await asOwner('PATCH', '/fair', { tenants: null })).body).toMatchObject({ tenants: null });
    expect((await call('GET', 'owner:fair', undefined, other.admin)).status).toBe(200);
    expect((await asOwner('GET', '')).body.data).toHaveLength(1);
    expect((await asOwner('GET', '/everyone')).status).toBe(404);
    const user = await asOwner('POST', '', { name: 'x', select: { users: ['ada'] } });
    expect(user).toMatchObject({ status: 400, body: { error: { param: 'select.users' } } });
    expect((await asOwner('DELETE', '/fair')).status).toBe(204);
  });

  it('is one of eight', async () => {
    for (let n = 0; n < 8; n += 1) expect((await asOwner('POST', '', { name: `o-${n}` })).status).toBe(201);
    expect(await asOwner('POST', '', { name: 'o-8' })).toMatchObject({
      ...{ status: 403, body: { error: { code: 'limit_reached' } } },
    });
  });
});

function manyPatterns(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `*${index}*a*b*`);
}

function manyNames(count: number, length: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index).padStart(length, 'x'));
}

describe('the alerts of a policy', () => {
  it('are sent also where it refuses nothing, and again in a new window', async () => {
    const own = await service.makeTenant();
    const budget = { usd: '0.000000001', period: 'year' };
    const { body: policy } = await create({ budget, enforce: false, alerts: [100] }, own.admin);
    const [replica, subjectId] = [new Replica(service), newId()];
    const spend = async (costPico: bigint) => {
      const ask = { subjectId, policyId: policy.id, value: '', resource: Resource.BUDGET };
      const [grant] = await replica.leaseTogether(own.id, [ask], [{ 0: 0n }]);
      if (grant === undefined) throw new Error('no grant');
      const charges = [{ subjectId, windowStart: grant.windowStart }];
      await replica.settle([{ ...settlementOf(own, replica, grant, costPico), charges }]);
    };
    const percents = async () => {
      await eventually(async () =>
        expect(await service.rows('select 1 from tenant.alert_outbox')).toEqual([]),
      );
      return service.others.alertsOf(own.id, 'budget.threshold').map(({ data }) => data['percent']);
    };
    await spend(999n);
    expect(await percents()).toEqual([]);
    await spend(10n ** 6n);
    await spend(10n ** 6n);
    expect(await percents()).toEqual([100]);
    await call('POST', `${policy.id}/reset`, {}, own.admin);
    await spend(1_000n);
    expect(await percents()).toEqual([100, 100]);
    const { id, name } = policyIn({ body: policy });
    for (const { data } of service.others.alertsOf(own.id, 'budget.threshold'))
      expect(data).toMatchObject({ subject_id: id, policy: name, value: null });
  });

  it('are sent at its percentages, once in a window, by the amount of the value or its groups', async () => {
    const own = await service.makeTenant();
    const budget = { usd: '0.000000001', period: 'year' };
    const overrides = { grace: { budget_usd: '0.00000001' }, 'group:eng': { budget_usd: '0.00000001' } };
    const { body: policy } = await create({ per: 'user', budget, overrides, alerts: [10, 95] }, own.admin);
    for (const [name, groups] of [
      ['bob', ['Eng', 'Ops']],
      ['ada', ['Ops']],
    ] as const)
      await service.call('PUT', `/v1/users/${name}`, { as: own.admin, body: { groups } });
    const replica = new Replica(service);
    for (const value of ['ada', 'grace', 'bob']) {
      const subjectId = newId();
      const ask = { subjectId, policyId: policy.id, value, userId: value, resource: Resource.BUDGET };
      const [grant] = await replica.leaseTogether(own.id, [ask], [{ 0: 500n }]);
      if (grant === undefined) throw new Error('no grant');
      const charges = [{ subjectId, windowStart: grant.windowStart }];
      for (const amount of [400n, 500n, 60n])
        await replica.settle([{ ...settlementOf(own, replica, grant, amount), charges }]);
    }
    await eventually(async () => expect(await service.rows('select 1 from tenant.alert_outbox')).toEqual([]));
    const alerts = service.others.alertsOf(own.id, 'budget.threshold').map(({ data }) => data);
    const common = { subject_type: 'policy', subject_id: policy.id, window_start: expect.any(String) };
    const ofAda = {
      ...common,
      policy: policyIn({ body: policy }).name,
      value: 'ada',
      budget_usd: '0.000000001000',
    };
    expect(alerts).toEqual([
      { ...ofAda, percent: 10, used_usd: '0.000000000400' },
      { ...ofAda, percent: 95, used_usd: '0.000000000960' },
    ]);
  });
});
