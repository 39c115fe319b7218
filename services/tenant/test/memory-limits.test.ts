import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { monotonicMs } from '@gatehouse/kit/clock';
import { allLimitsOf } from './replica.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterEach(() => {
  service.others.usageState = 'answers';
});
afterAll(() => service.stop());

const path = '/internal/v1/owner/tenants';
const patch = (tenant: TestTenant, limits: unknown) =>
  service.call('PATCH', `${path}/${tenant.id}`, { body: { limits } });
const settingsOf = async (tenant: TestTenant) => (await service.settings(tenant.id, 'memory')).memoryLimits;
const gib = 1024 ** 3;

const state = (resource: string, limit: number, used: number | null, remaining: number | null) => {
  return {
    ...{ resource, window: null, limit, used, reserved: 0, remaining, resets_at: null },
    ...{ policy: null, value: null },
  };
};

it('a tenant has the limits that its owner sets, and defaults for the others', async () => {
  const tenant = await service.makeTenant();
  expect(await settingsOf(tenant)).toEqual({
    documents: 100_000n,
    bytes: BigInt(5 * gib),
    entities: 1_000_000n,
  });
  const answer = await patch(tenant, { memory: { documents: 10, entities: 0 }, max_concurrent: 3 });
  expect(answer.body.limits).toEqual({ max_concurrent: 3, memory: { documents: 10, entities: 0 } });
  expect(await settingsOf(tenant)).toEqual({ documents: 10n, bytes: BigInt(5 * gib), entities: 0n });
  const again = await patch(tenant, { memory: { documents: null, bytes: 7 } });
  expect(again.body.limits).toEqual({ max_concurrent: 3, memory: { bytes: 7, entities: 0 } });
  expect(await settingsOf(tenant)).toEqual({ documents: 100_000n, bytes: 7n, entities: 0n });
  expect((await patch(tenant, { memory: null })).body.limits).toEqual({ max_concurrent: 3 });
  expect(await settingsOf(tenant)).toMatchObject({ bytes: BigInt(5 * gib) });
});

it('are set at creation too, and a change of them is in the audit log', async () => {
  const tenant = await service.makeTenant({ limits: { memory: { documents: 10, bytes: null } } });
  expect((await service.call('GET', `${path}/${tenant.id}`)).body.limits).toEqual({
    memory: { documents: 10 },
  });
  await patch(tenant, { memory: { documents: 20 } });
  const log = await service.call('GET', `/internal/v1/owner/audit-log?tenant_id=${tenant.id}&limit=1`);
  expect(log.body.data[0]).toMatchObject({
    action: 'tenant.updated',
    before: { limits: { memory: { documents: 10 } } },
    after: { limits: { memory: { documents: 20 } } },
  });
});

it('a key has no limits of memory', async () => {
  const tenant = await service.makeTenant();
  const body = { name: 'A key', role: 'user', limits: { memory: { documents: 1 } } };
  const answer = await service.call('POST', '/v1/api-keys', { as: tenant.admin, body });
  expect(answer.status).toBe(400);
  expect(answer.body.error).toMatchObject({ code: 'unknown_parameter', param: 'limits.memory' });
});

it('GET /v1/limits shows the limits of memory after the others, with what memory has counted', async () => {
  const tenant = await service.makeTenant({
    limits: { max_concurrent: 3, memory: { documents: 10, bytes: 100 } },
  });
  service.others.usage.set(tenant.id, { documents: 4n, bytes: 120n, entities: 0n });
  expect(await allLimitsOf(service, tenant)).toEqual([
    state('concurrency', 3, 0, 3),
    state('memory_documents', 10, 4, 6),
    // The limit was lowered below what is stored.
    state('memory_bytes', 100, 120, 0),
    state('memory_entities', 1_000_000, 0, 1_000_000),
  ]);
});

it('GET /v1/limits says in which time zone days and months are counted', async () => {
  for (const timezone of ['Asia/Ho_Chi_Minh', 'UTC']) {
    const { admin } = await service.makeTenant({ timezone });
    const { body } = await service.call('GET', '/v1/limits', { as: admin });
    expect(body).toMatchObject({ timezone });
  }
});

it.each(['fails', 'hangs'] as const)(
  'GET /v1/limits shows all limits, and null for what is unknown, while memory %s',
  async (outage) => {
    const tenant = await service.makeTenant({ limits: { max_concurrent: 3, memory: { documents: 10 } } });
    service.others.usageState = outage;
    const startedAt = monotonicMs();
    expect(await allLimitsOf(service, tenant)).toEqual([
      state('concurrency', 3, 0, 3),
      state('memory_documents', 10, null, null),
      state('memory_bytes', 5 * gib, null, null),
      state('memory_entities', 1_000_000, null, null),
    ]);
    expect(monotonicMs() - startedAt).toBeLessThan(2_500);
  },
);
