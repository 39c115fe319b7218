import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { PolicyCounter } from '@gatehouse/contract/policy-counters';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { Replica, settlementOf } from './replica.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterAll(() => service.stop());

let tenant: TestTenant;
beforeEach(async () => {
  tenant = await service.makeTenant();
});

const create = async (body: Record<string, unknown> = {}): Promise<string> => {
  const defaults = { name: 'people', per: 'user', budget: { usd: '1', period: 'month' } };
  const made = await service.call('POST', '/v1/policies', {
    ...{ as: tenant.admin, body: { ...defaults, ...body } },
  });
  expect(made.status).toBe(201);
  return made.body.id;
};

const usd = 1_000_000_000_000n;

/** Spends thousandths of a USD of a value, and reserves a tenth more. Returns the id of the counter. */
async function spend(policyId: string, value: string, thousandths: bigint, of = tenant): Promise<string> {
  const replica = new Replica(service);
  const subjectId = newId();
  const counted = { subjectId, policyId, value, userId: value, resource: Resource.BUDGET };
  const costPico = (thousandths * usd) / 1_000n;
  const { windowStart, ...grant } = await replica.leaseOne(of.id, { ...counted, needs: [costPico] });
  const charges = [{ subjectId, windowStart }];
  await replica.settle([{ ...settlementOf(of, replica, { ...grant, windowStart }, costPico), charges }]);
  await replica.leaseOne(of.id, { ...counted, windowStart, holding: usd / 10n });
  return subjectId;
}

interface Page {
  data: PolicyCounter[];
  has_more: boolean;
  next_cursor: string | null;
}

async function list(query = '', policy = 'people', as = tenant.admin): Promise<Page> {
  const { status, body } = await service.call('GET', `/v1/policies/${policy}/counters${query}`, { as });
  expect(status).toBe(200);
  return body as unknown as Page;
}

const valuesOf = ({ data }: Page) => data.map(({ value }) => value);

describe('the counters of a policy', () => {
  it('have what is spent, reserved and left, and their limits', async () => {
    const id = await create({ limits: { requests_per_minute: 60 } });
    expect((await list()).data).toEqual([]);
    await spend(id, 'ada', 250n);
    const { data } = await list();
    const [counter] = data;
    expect(counter).toEqual({
      value: 'ada',
      limits: [
        {
          ...{ resource: 'requests', limit: 60, resets_at: expect.any(String) },
          ...{ used: 0, remaining: 60 },
        },
      ],
      budget_usd: '1.000000000000',
      spent_usd: '0.250000000000',
      reserved_usd: '0.100000000000',
      remaining_usd: '0.650000000000',
      resets_at: expect.any(String),
    });
    expect(data).toHaveLength(1);
  });

  it('are sorted by what is spent or left, in pages, and searched', async () => {
    const id = await create({ overrides: { bob: { budget_usd: '0.5' } } });
    for (const [value, thousandths] of [
      ['ada', 300n],
      ['Alan', 100n],
      ['bob', 200n],
      ['eve', 400n],
    ] as const)
      await spend(id, value, thousandths);
    const unlimited = { as: tenant.admin, body: { budget_usd: null } };
    await service.call('PUT', '/v1/policies/people/overrides/eve', unlimited);
    expect(valuesOf(await list())).toEqual(['eve', 'ada', 'bob', 'Alan']);
    expect(valuesOf(await list('?sort=remaining'))).toEqual(['bob', 'ada', 'Alan', 'eve']);
    expect(valuesOf(await list('?q=a'))).toEqual(['ada', 'Alan']);
    for (const sort of ['spent', 'remaining']) {
      const all = valuesOf(await list(`?sort=${sort}`));
      const paged: unknown[] = [];
      let cursor: string | null = null;
      do {
        const page: Page = await list(`?sort=${sort}&limit=1${cursor === null ? '' : `&cursor=${cursor}`}`);
        paged.push(...valuesOf(page));
        cursor = page.next_cursor;
      } while (cursor !== null);
      expect(paged).toEqual(all);
    }
    const wrong = await service.call('GET', '/v1/policies/people/counters?cursor=x', { as: tenant.admin });
    expect(wrong).toMatchObject({ status: 400, body: { error: { code: 'invalid_cursor' } } });
  });

  it('follow the overrides of groups, of which the largest counts', async () => {
    await service.call('PUT', '/v1/users/ada', { as: tenant.admin, body: { groups: ['a', 'b'] } });
    const id = await create({
      overrides: { 'group:a': { budget_usd: '3' }, 'group:b': { budget_usd: '5' } },
    });
    await spend(id, 'ada', 100n);
    await spend(id, 'bob', 50n);
    const { data } = await list('?sort=remaining');
    expect(data.map(({ value, budget_usd }) => [value, budget_usd])).toEqual([
      ['bob', '1.000000000000'],
      ['ada', '5.000000000000'],
    ]);
  });

  it('of a window that is over, or before a change of the selection, are left out', async () => {
    const id = await create({ budget: { usd: '1', period: 'hour' } });
    const [over, present] = [await spend(id, 'ada', 10n), await spend(id, 'bob', 10n)];
    expect(present).not.toBe(over);
    await service.rows(
      `update tenant.policy_counters set window_end = now() - interval '1 second' where id = $1`,
      [over],
    );
    expect(valuesOf(await list())).toEqual(['bob']);
    const changed = await service.call('PATCH', '/v1/policies/people', {
      ...{ as: tenant.admin, body: { select: { models: ['gpt-*'] } } },
    });
    expect(changed.status).toBe(200);
    expect(valuesOf(await list())).toEqual([]);
  });

  it('without a budget have limits alone', async () => {
    const id = await create({ budget: null, limits: { requests_per_minute: 60 } });
    const counted = { subjectId: newId(), policyId: id, value: 'ada', resource: Resource.REQUESTS };
    await new Replica(service).leaseOne(tenant.id, { ...counted, needs: [60n] });
    expect((await list()).data).toMatchObject([
      {
        value: 'ada',
        limits: [{ limit: 60, used: 60, remaining: 0 }],
        budget_usd: null,
        spent_usd: null,
        remaining_usd: null,
      },
    ]);
  });

  it("of the owner's policies are those of this tenant", async () => {
    const other = await service.makeTenant();
    const body = { name: 'fair', budget: { usd: '1', period: 'total' } };
    const { body: fair } = await service.call('POST', '/internal/v1/owner/policies', { body });
    await spend(fair.id, '', 10n);
    await spend(fair.id, '', 20n, other);
    expect((await list('', 'owner:fair')).data).toMatchObject([
      { value: null, spent_usd: '0.010000000000', resets_at: null },
    ]);
    expect((await list('', 'owner:fair', other.admin)).data).toMatchObject([{ spent_usd: '0.020000000000' }]);
    const path = '/internal/v1/owner/policies/fair/counters';
    const ofOwner = async (query: string): Promise<unknown> =>
      (await service.call('GET', `${path}?${query}`)).body;
    const [first, second] = [
      { tenant: other.id, value: null, spent_usd: '0.020000000000', reserved_usd: '0.100000000000' },
      { tenant: tenant.id, tenant_slug: tenant.slug, spent_usd: '0.010000000000' },
    ];
    expect(await ofOwner('limit=100')).toMatchObject({ data: [first, second], has_more: false });
    expect(await ofOwner(`tenant_id=${tenant.id}`)).toMatchObject({ data: [second] });
    expect(await ofOwner('limit=1')).toMatchObject({ data: [first], has_more: true });
    await service.call('DELETE', `/internal/v1/owner/policies/${fair.id}`);
  });

  it('are for admins of the policy', async () => {
    await create();
    const get = (as: object) =>
      service.call('GET', '/v1/policies/people/counters', { as: { ...tenant.admin, ...as } });
    expect((await get({ role: 'user' })).status).toBe(403);
    const other = await service.makeTenant();
    expect((await get(other.admin)).status).toBe(404);
  });
});
