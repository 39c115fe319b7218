import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, withTenant } from '@gatehouse/pg/pool';
import { Resource, type Policy } from '@gatehouse/proto/tenant/v1/tenant';
import { openCounterKey } from '@gatehouse/secrets/counter-key';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let service: TenantServiceUnderTest;
let tenant: TestTenant;
let other: TestTenant;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  [tenant, other] = [await service.makeTenant(), await service.makeTenant()];
});
afterAll(() => service.stop());

const counterKey = Buffer.from('sealed');

async function insert(policy: Record<string, unknown>): Promise<string> {
  const id = newId();
  const row = {
    ...{ id, tenant_id: tenant.id, name: `p-${id}`, selection: {}, limits: {}, alerts: [50] },
    ...{ enforce: true, enabled: true, counter_key: counterKey, ...policy },
  };
  const names = Object.keys(row);
  await service.rows(
    `insert into tenant.policies (${names.join()}) values (${names.map((_, index) => `$${index + 1}`).join()})`,
    Object.values(row),
  );
  return id;
}

async function policiesOf(tenantId: string, caller: 'chat' | 'analytics' = 'chat'): Promise<Policy[]> {
  const peer = await service.peer(caller);
  const request = { tenantId, withPolicies: true };
  return (await peer.call('getTenantSettings', request, { deadlineMs: 5_000 })).policies;
}

async function changed(work: () => Promise<unknown>): Promise<string[]> {
  const edge = await service.peer('edge');
  const list = (position: string) => edge.call('listChanges', { position }, { deadlineMs: 5_000 });
  const { position } = await list('');
  await work();
  return (await list(position)).subjects;
}

describe('settings', () => {
  it('have the enabled policies of the tenant, and those of the owner for it', async () => {
    const id = await insert({
      ...{ name: 'people', selection: { users: ['ada'], models: ['gpt-*'] }, per: 'user' },
      ...{ limits: { requests_per_minute: 0, max_concurrent: null } },
      budget: { usd: '1', period: 'week' },
    });
    await insert({ enabled: false });
    const ofAll = await insert({ tenant_id: null, name: 'all', overridden: ['tokens_per_minute'] });
    const ofOne = await insert({ tenant_id: null, name: 'one', tenants: [tenant.id] });
    const names = { users: [], groups: [], agents: [], apiKeys: [], models: [], counterKey };
    const fair = { ...names, id: ofAll, name: 'owner:all', limited: [Resource.TOKENS], enforce: true };
    const policies = await policiesOf(tenant.id);
    // Ids made in one millisecond have any order.
    expect(policies.toSorted((one, other) => one.name.localeCompare(other.name))).toEqual([
      { ...fair, fromOwner: true },
      { ...fair, id: ofOne, name: 'owner:one', limited: [], fromOwner: true },
      {
        ...{ ...names, users: ['ada'], models: ['gpt-*'], id, name: 'people', per: 'user', enforce: true },
        ...{ limited: [Resource.REQUESTS, Resource.BUDGET], fromOwner: false },
      },
    ]);
    expect((await policiesOf(other.id)).map((policy) => policy.name)).toEqual(['owner:all']);
    // Other services don't match runs.
    expect(await policiesOf(tenant.id, 'analytics')).toEqual([]);
  });

  it('have a key of the counters of each policy, which differs by tenant', async () => {
    const call = { body: { name: 'shared' } };
    const { body } = await service.call('POST', '/internal/v1/owner/policies', call);
    const ring = KeyRing.parse(service.identity.keyRing);
    const keyOf = async (tenantId: string): Promise<string> => {
      const policy = (await policiesOf(tenantId)).find(({ id }) => id === body.id);
      return openCounterKey(
        ring,
        { tenantId, policyId: body.id },
        policy?.counterKey ?? Buffer.of(),
      ).toString('hex');
    };
    const keys = [await keyOf(tenant.id), await keyOf(other.id), await keyOf(tenant.id)];
    expect(keys).toEqual([keys[0], expect.stringMatching(/^[0-9a-f]{64}$/), keys[0]]);
    expect(keys[1]).not.toBe(keys[0]);
    await service.call('DELETE', '/internal/v1/owner/policies/shared');
  });

  it('change with a policy', async () => {
    const id = newId();
    expect(await changed(() => insert({ id }))).toEqual([tenant.id]);
    const disable = 'update tenant.policies set enabled = false where id = $1';
    expect(await changed(() => service.rows(disable, [id]))).toEqual([tenant.id]);
    const remove = 'delete from tenant.policies where id = $1';
    expect(await changed(() => service.rows(remove, [id]))).toEqual([tenant.id]);
  });

  it('of each tenant change with a policy of the owner', async () => {
    const id = newId();
    const toOne = 'update tenant.policies set tenants = $2 where id = $1';
    expect(await changed(() => insert({ id, tenant_id: null }))).toEqual(
      expect.arrayContaining([tenant.id, other.id]),
    );
    expect(await changed(() => service.rows(toOne, [id, [tenant.id]]))).toContain(other.id);
    const remove = 'delete from tenant.policies where id = $1';
    expect(await changed(() => service.rows(remove, [id]))).toEqual([tenant.id]);
  });
});

describe('the role tenant_app', () => {
  it('reaches the policies of its tenant, and reads those of the owner for it', async () => {
    const [mine, theirs] = [await insert({}), await insert({ tenant_id: other.id })];
    const [shared, foreign] = [
      await insert({ tenant_id: null, tenants: [tenant.id] }),
      await insert({ tenant_id: null, tenants: [other.id] }),
    ];
    for (const id of [mine, theirs, shared])
      await service.rows(
        `insert into tenant.policy_overrides (policy_id, tenant_id, value, amounts)
         select id, tenant_id, 'ada', '{}' from tenant.policies where id = $1`,
        [id],
      );
    const url = service.database.url;
    const app = createPool({ url, role: 'tenant_app', max: 1, log: createLogger('test', 'silent') });
    try {
      await withTenant(app, tenant.id, async (db) => {
        const ids = async (text: string) => (await db.all<{ id: string }>(text)).map(({ id }) => id);
        const seen = await ids('select id from tenant.policies');
        expect(seen).toEqual(expect.arrayContaining([mine, shared]));
        expect(seen).not.toEqual(expect.arrayContaining([theirs]));
        expect(seen).not.toEqual(expect.arrayContaining([foreign]));
        expect(await ids('select policy_id as id from tenant.policy_overrides')).toEqual([mine]);
        const deleted = await db.all<{ id: string }>(
          'delete from tenant.policies where id = any ($1) returning id',
          [[mine, theirs, shared]],
        );
        expect(deleted).toEqual([{ id: mine }]);
      });
      const forged = `insert into tenant.policies (id, name, selection, limits, alerts, enforce, enabled, counter_key)
        values (gen_random_uuid(), 'x', '{}', '{}', '{}', true, true, '')`;
      const forging = withTenant(app, tenant.id, (db) => db.query(forged));
      await expect(forging).rejects.toMatchObject({ code: '42501' });
    } finally {
      await app.end();
    }
  });
});
