import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { groupEntry, groupNameEntry } from '@gatehouse/kit/selection-index';
import { Resource, type Grant } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { newId } from '@gatehouse/kit/ids';
import { Replica, settlementOf } from './replica.ts';
import { ScimClient } from './scim-client.ts';
import { TenantServiceUnderTest } from './tenant-service.ts';

/** Policies and their counters when a group gets another name, or is deleted and made again. */

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterAll(() => service.stop());

let scim: ScimClient;
beforeEach(async () => {
  scim = new ScimClient(service, await service.makeTenant());
});

interface PolicyBody {
  id: string;
  select: { groups: string[] };
  overrides: Record<string, { budget_usd: string }>;
  counts_since: string;
}

async function call(method: string, path: string, body?: object): Promise<unknown> {
  const answer = await service.call(method, path, {
    ...{ as: scim.tenant.admin, ...(body !== undefined && { body }) },
  });
  expect(answer.status).toBeLessThan(300);
  return answer.body;
}

const budget = { usd: '1', period: 'month' };

const create = async (body: object): Promise<PolicyBody> =>
  (await call('POST', '/v1/policies', { name: 'teams', budget, ...body })) as PolicyBody;
const policy = async (name = 'teams'): Promise<PolicyBody> =>
  (await call('GET', `/v1/policies/${name}`)) as PolicyBody;
const values = async (): Promise<unknown> =>
  (
    (await call('GET', '/v1/policies/teams/counters')) as { data: { value: string; spent_usd: string }[] }
  ).data.map(({ value, spent_usd: spent }) => [value, spent]);
const rename = async (id: string, displayName: string): Promise<void> => {
  const renamed = await scim.patch(`/Groups/${id}`, {
    op: 'replace',
    path: 'displayName',
    value: displayName,
  });
  expect(renamed.status).toBe(204);
};

/** The groups that chat selects by. */
async function selected(): Promise<string[][]> {
  const peer = await service.peer('chat');
  const request = { tenantId: scim.tenant.id, withPolicies: true };
  const { policies } = await peer.call('getTenantSettings', request, { deadlineMs: 30_000 });
  return policies.map(({ groups }) => groups);
}

/** The keys, tenants, users and groups that services forget by a change. */
async function forgotten(change: () => Promise<unknown>): Promise<string[]> {
  const edge = await service.peer('edge');
  const list = (position: string) => edge.call('listChanges', { position }, { deadlineMs: 30_000 });
  const { position } = await list('');
  await change();
  return (await list(position)).subjects;
}

/** Leases from the counter of a group, or of a user with groups, as chat asks for it. */
class Counted {
  readonly replica = new Replica(service);
  readonly ask: { subjectId: string; policyId: string; value: string; resource: Resource; groups?: string[] };

  constructor(policyId: string, value: string, groups?: string[]) {
    this.ask = { subjectId: newId(), policyId, value, resource: Resource.BUDGET, ...(groups && { groups }) };
  }

  lease(): Promise<Grant> {
    return this.replica.leaseOne(scim.tenant.id, this.ask);
  }

  async spend(costPico: bigint): Promise<void> {
    const grant = await this.lease();
    const charges = [{ subjectId: this.ask.subjectId, windowStart: grant.windowStart }];
    await this.replica.settle([{ ...settlementOf(scim.tenant, this.replica, grant, costPico), charges }]);
  }
}

const usd = 1_000_000_000_000n;

describe('a renamed group', () => {
  it('is selected as before, and policies name it as it is called now', async () => {
    const { id } = await scim.add('Groups', { displayName: 'Sales' });
    const before = await create({ select: { groups: ['SALES', 'sal*', 'Unknown'] } });
    await create({ name: 'other', select: { groups: ['Other'] } });
    const others = [groupNameEntry('sal*'), groupNameEntry('Unknown')];
    expect(await selected()).toEqual([[groupEntry(id), ...others], [groupNameEntry('Other')]]);
    expect(await forgotten(() => rename(id, 'Revenue'))).toEqual(
      expect.arrayContaining([id, scim.tenant.id]),
    );
    const after = await policy();
    expect(after.select.groups).toEqual(['Revenue', 'sal*', 'Unknown']);
    expect(after.counts_since).toBe(before.counts_since);
    expect((await policy('other')).select.groups).toEqual(['Other']);
    expect(await selected()).toEqual([[groupEntry(id), ...others], [groupNameEntry('Other')]]);
    // A name that a group gets is selected by it from then on.
    await rename(id, 'Unknown');
    expect((await policy()).select.groups).toEqual(['Unknown', 'sal*']);
    expect(await selected()).toEqual([[groupEntry(id), groupNameEntry('sal*')], [groupNameEntry('Other')]]);
  });

  it('that was made after the policies is selected by its id', async () => {
    await create({ select: { groups: ['Sales'] } });
    expect(await forgotten(() => scim.put('ada', { groups: ['SALES'] }))).toContain(scim.tenant.id);
    const [group] = await service.rows('select id from tenant.groups where tenant_id = $1', [scim.tenant.id]);
    expect(await selected()).toEqual([[groupEntry(String(group?.['id']))]]);
    expect(await forgotten(() => scim.put('bo', { groups: ['sales'] }))).not.toContain(scim.tenant.id);
  });

  it('keeps its counter, override and events under the new name', async () => {
    const { id } = await scim.add('Groups', { displayName: 'Sales' });
    const made = await create({
      ...{ select: { groups: ['Sales'] }, per: 'group', alerts: [50] },
      overrides: { Sales: { budget_usd: '2' }, Revenue: { budget_usd: '9' }, Others: { budget_usd: '7' } },
    });
    const counted = new Counted(made.id, id);
    await counted.spend(usd / 2n);
    expect(await values()).toEqual([['Sales', '0.500000000000']]);
    await rename(id, 'Revenue');
    // A replica that has not heard of it, or a run under way, asks by the id.
    expect(await counted.lease()).toMatchObject({ limit: 2n * usd, spent: usd / 2n });
    await counted.spend(usd / 2n);
    expect(await values()).toEqual([['Revenue', '1.000000000000']]);
    expect((await policy()).overrides).toMatchObject({
      Revenue: { budget_usd: '2' },
      Others: { budget_usd: '7' },
    });
    expect(Object.keys((await policy()).overrides)).toHaveLength(2);
    await eventually(() => {
      const alerts = service.others.alertsOf(scim.tenant.id, 'budget.threshold');
      expect(alerts.map(({ data }) => data['value'])).toEqual(['Revenue']);
    });
    await call('POST', '/v1/policies/teams/reset', { value: 'sales' });
    expect(await counted.lease()).toMatchObject({ spent: usd });
    await call('POST', '/v1/policies/teams/reset', { value: 'REVENUE' });
    expect(await counted.lease()).toMatchObject({ spent: 0n });
  });

  it('keeps the override for its users', async () => {
    const { id } = await scim.add('Groups', { displayName: 'Sales' });
    const made = await create({
      ...{ per: 'user', overrides: { 'group:Sales': { budget_usd: '2' }, sales: { budget_usd: '5' } } },
    });
    const counted = new Counted(made.id, 'ada', [id]);
    expect(await counted.lease()).toMatchObject({ limit: 2n * usd });
    await rename(id, 'Revenue');
    expect(await counted.lease()).toMatchObject({ limit: 2n * usd });
    expect((await policy()).overrides).toMatchObject({
      ...{ 'group:Revenue': { budget_usd: '2' }, sales: { budget_usd: '5' } },
    });
  });

  it('changes no policy of another tenant', async () => {
    const { id } = await scim.add('Groups', { displayName: 'Sales' });
    const [own, other] = [scim, new ScimClient(service, await service.makeTenant())];
    scim = other;
    await create({
      select: { groups: ['Sales'] },
      per: 'user',
      overrides: { 'group:sales': { budget_usd: '2' } },
    });
    expect(await selected()).toEqual([[groupNameEntry('Sales')]]);
    scim = own;
    await rename(id, 'Revenue');
    scim = other;
    expect(await policy()).toMatchObject({ select: { groups: ['Sales'] } });
    expect(Object.keys((await policy()).overrides)).toEqual(['group:sales']);
  });
});

describe('a group that is deleted and made again', () => {
  it('under its name is the same, with what it has spent', async () => {
    const { id } = await scim.add('Groups', { displayName: 'Sales', externalId: 'object-1' });
    const made = await create({ select: { groups: ['Sales'] }, per: 'group' });
    await new Counted(made.id, id).spend(usd / 4n);
    expect((await scim.call('DELETE', `/Groups/${id}`)).status).toBe(204);
    expect(await selected()).toEqual([[groupEntry(id)]]);
    const again = await scim.add('Groups', { displayName: 'SALES', externalId: 'object-2' });
    expect(again.id).toBe(id);
    expect(await selected()).toEqual([[groupEntry(id)]]);
    expect(await policy()).toMatchObject({ select: { groups: ['SALES'] } });
    expect(await values()).toEqual([['SALES', '0.250000000000']]);
  });

  it('under its external id is the same, whatever its name is then', async () => {
    const { id } = await scim.add('Groups', { displayName: 'Sales', externalId: 'object-1' });
    const made = await create({ select: { groups: ['Sales'] }, per: 'group' });
    await new Counted(made.id, id).spend(usd / 4n);
    await scim.call('DELETE', `/Groups/${id}`);
    const again = await scim.add('Groups', { displayName: 'Revenue', externalId: 'object-1' });
    expect(again.id).toBe(id);
    expect(await policy()).toMatchObject({ select: { groups: ['Revenue'] } });
    expect(await selected()).toEqual([[groupEntry(id)]]);
    expect(await values()).toEqual([['Revenue', '0.250000000000']]);
  });
});
