import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { picoOf, usdOf } from '@gatehouse/kit/money';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { limitsOf, Replica, settlementOf } from './replica.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';
import { zoneAtHour } from './zone-at-hour.ts';

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterAll(() => service.stop());

const usd = usdOf(1_000n);

async function change(tenant: TestTenant, body: Record<string, unknown>): Promise<void> {
  const { status } = await service.call('PATCH', `/internal/v1/owner/tenants/${tenant.id}`, { body });
  expect(status).toBe(200);
}

/** The used part of the budget by `GET /v1/limits`, in pico-USD. */
async function used(tenant: TestTenant): Promise<bigint> {
  const [limit] = await limitsOf(service, tenant);
  return picoOf(String(limit?.['used']));
}

/** Leases and settles. */
async function spend(tenant: TestTenant, costPico: bigint): Promise<void> {
  const replica = new Replica(service);
  const grant = await replica.leaseOne(tenant.id, { resource: Resource.BUDGET, needs: [costPico] });
  await replica.settle([settlementOf(tenant, replica, grant, costPico)], [replica.id]);
}

describe('the list of budgets', () => {
  const budgets = async (query = ''): Promise<Record<string, unknown>[]> => {
    const { status, body } = await service.call('GET', `/internal/v1/owner/budgets${query}`);
    expect(status).toBe(200);
    return body.data;
  };
  /** The used part by the list, in pico-USD. */
  const listedUse = async ({ id }: TestTenant): Promise<bigint> => {
    const [budget] = await budgets(`?tenant_id=${id}`);
    return picoOf(String(budget?.['used']));
  };

  it('has the largest spent share first, with the figures of limits', async () => {
    const make = (amount: string) => service.makeTenant({ budget: { usd: amount, period: 'month' } });
    const [half, most, empty] = [await make(usdOf(2_000n)), await make(usd), await make('0')];
    await service.makeTenant();
    const archived = await make(usd);
    await change(archived, { status: 'archived' });
    await spend(half, 900n);
    await spend(most, 800n);
    const listed = await budgets('?limit=200');
    const ids = [empty, most, half, archived].map(({ id }) => id);
    const order = listed.map(({ tenant }) => String(tenant)).filter((id) => ids.includes(id));
    expect(order).toEqual(ids.slice(0, 3));
    const [limit] = await limitsOf(service, most);
    expect(listed.find(({ tenant }) => tenant === most.id)).toEqual({
      ...{ tenant: most.id, tenant_slug: most.slug, tenant_name: 'A tenant', status: 'active' },
      ...{ window: 'month', limit: limit?.['limit'], used: limit?.['used'], resets_at: limit?.['resets_at'] },
    });
    expect(await budgets('?limit=1')).toHaveLength(1);
    expect(await budgets(`?tenant_id=${half.id}`)).toMatchObject([{ tenant: half.id }]);
  });

  it('follows a budget into the next day, and into another period', async () => {
    const tenant = await service.makeTenant({ timezone: zoneAtHour(2), budget: { usd, period: 'day' } });
    await spend(tenant, 300n);
    expect(await listedUse(tenant)).toBe(300n);
    await service.rows(
      `update tenant.limit_uses set window_start = window_start - interval '1 day',
         starts_at = starts_at - interval '1 day', ends_at = ends_at - interval '1 day' where subject_id = $1`,
      [tenant.id],
    );
    await service.rows(
      `update tenant.budget_spend set bucket = bucket - interval '1 day' where subject_id = $1`,
      [tenant.id],
    );
    expect(await listedUse(tenant)).toBe(0n);
    await spend(tenant, 20n);
    await change(tenant, { budget: { usd, period: 'month' } });
    expect(await listedUse(tenant)).toBe(await used(tenant));
  });
});
