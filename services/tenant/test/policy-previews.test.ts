import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { RunProperty, type RunGroup } from '@gatehouse/proto/analytics/v1/analytics';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterAll(() => service.stop());

let tenant: TestTenant;
beforeEach(async () => {
  tenant = await service.makeTenant();
  service.others.groupedRuns = { groups: [], truncated: false };
});

const send = (method: 'POST' | 'PATCH', path: string, body: object) =>
  service.call(method, path, { as: tenant.admin, body });

const group = (fields: Partial<RunGroup>): RunGroup => ({
  ...{ groups: [], windowStart: 0n, runs: 3n, costPico: 2_000_000_000_000n },
  ...fields,
});

const people = { name: 'people', per: 'user', budget: { usd: '1', period: 'week' } };
const ofAda = { value: 'ada', spent_usd: '2.000000000000', budget_usd: '1.000000000000' };

describe('a dry run of a policy', () => {
  it('shows the runs that a new one would have counted, and who would be over the amount', async () => {
    service.others.groupedRuns = { groups: [group({ userId: 'ada' }), group({})], truncated: true };
    const { status, body } = await send('POST', '/v1/policies?dry_run=true', people);
    expect(status).toBe(201);
    expect(body).toMatchObject({ id: null, preview: { runs: 3, values_over: [ofAda], truncated: true } });
    expect(service.others.groupRequests.at(-1)).toMatchObject({
      ...{ tenantId: tenant.id, days: 7, properties: [RunProperty.USER], period: 'week', timezone: 'UTC' },
    });
    expect((await service.call('GET', '/v1/policies', { as: tenant.admin })).body).toMatchObject({
      data: [],
    });
  });

  it('shows the same of a change, with the settings after it', async () => {
    expect((await send('POST', '/v1/policies', people)).body).not.toHaveProperty('preview');
    const agent = { id: newId(), key: 'helpdesk', name: 'Help' };
    service.others.agents.push(agent);
    service.others.groupedRuns = {
      groups: [group({ userId: 'ada', agentId: agent.id }), group({ userId: 'bob', agentId: newId() })],
      truncated: false,
    };
    const change = { select: { agents: ['help*'] } };
    const { body } = await send('PATCH', '/v1/policies/people?dry_run=true', change);
    expect(body).toMatchObject({ preview: { runs: 3, values_over: [ofAda], truncated: false } });
    expect((await send('PATCH', '/v1/policies/people', change)).body).not.toHaveProperty('preview');
  });

  it('shows null while runs cannot be read', async () => {
    service.others.groupedRuns = null;
    const { status, body } = await send('POST', '/v1/policies?dry_run=true', people);
    expect([status, body]).toMatchObject([201, { preview: null }]);
  });

  it('of the owner shows null', async () => {
    const path = '/internal/v1/owner/policies';
    const body = { name: 'previewed', per: 'model' };
    const dry = await service.call('POST', `${path}?dry_run=true`, { body });
    expect([dry.status, dry.body]).toMatchObject([201, { preview: null }]);
    expect((await service.call('POST', path, { body })).body).not.toHaveProperty('preview');
    const change = await service.call('PATCH', `${path}/previewed?dry_run=true`, {
      body: { enabled: false },
    });
    expect([change.status, change.body]).toMatchObject([200, { enabled: false, preview: null }]);
    await service.call('DELETE', `${path}/previewed`);
  });
});
