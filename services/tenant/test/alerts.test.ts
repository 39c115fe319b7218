import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AlertOutbox } from '@gatehouse/events/store/alert-outbox-store';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { ApiKeySystemStore } from '../src/keys/api-key-system-store.ts';
import { Replica, settlementOf } from './replica.ts';
import { TenantServiceUnderTest } from './tenant-service.ts';

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterAll(() => service.stop());

/** Resolves when every alert so far has been published. */
const flushed = () =>
  eventually(async () => expect(await service.rows('select 1 from tenant.alert_outbox')).toEqual([]));

it('each threshold of a budget is reported once in its period, to the tenant and to the owner', async () => {
  const tenant = await service.makeTenant({ budget: { usd: '0.000000001', period: 'month' } });
  const replica = new Replica(service);
  const grant = await replica.leaseOne(tenant.id, { resource: Resource.BUDGET, needs: [1_000n] });
  for (const amount of [400n, 500n, 10n, 190n])
    await replica.settle([settlementOf(tenant, replica, grant, amount)]);
  await flushed();
  const own = service.others.alertsOf(tenant.id, 'budget.threshold');
  expect(own.map(({ data }) => data)).toEqual(
    [50, 80, 100].map((percent) => ({
      ...{ subject_type: 'tenant', subject_id: tenant.id, policy: null, value: null },
      ...{ percent, budget_usd: '0.000000001000' },
      used_usd: percent === 100 ? '0.000000001100' : '0.000000000900',
      window_start: new Date(Number(grant.windowStart)).toISOString(),
    })),
  );
  const platform = service.others
    .alertsOf(null, 'tenant.budget_threshold')
    .filter(({ data }) => data['tenant_id'] === tenant.id);
  expect(platform.map(({ data }) => data)).toEqual(
    own.map(({ data: { policy: _policy, value: _value, ...data } }) => ({ tenant_id: tenant.id, ...data })),
  );
});

it('a key that expires within a week is reported once', async () => {
  const tenant = await service.makeTenant();
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const soon = await service.makeKey(tenant.admin, { name: 'soon', expires_at: inDays(6) });
  await service.makeKey(tenant.admin, { name: 'later', expires_at: inDays(8) });
  await service.makeKey(tenant.admin, { name: 'never' });
  const revoked = await service.makeKey(tenant.admin, { name: 'revoked', expires_at: inDays(1) });
  await service.call('POST', `/v1/api-keys/${revoked.id}/revoke`, { as: tenant.admin, body: {} });
  const log = createLogger('test', 'silent');
  const pool = createPool({ url: service.database.url, role: 'tenant_system', max: 2, log });
  const keys = new ApiKeySystemStore(pool);
  const outbox = new AlertOutbox('tenant');
  const raise = keys.raiseExpiring.bind(keys, 100, (db, alert) => outbox.add(db, alert));
  const raised = await Promise.all([raise(), raise()]);
  expect(raised.sort()).toEqual([0, 1]);
  expect(await raise()).toBe(0);
  await pool.end();
  await flushed();
  expect(service.others.alertsOf(tenant.id, 'key.expiring').map(({ data }) => data)).toEqual([
    { api_key_id: soon.id, name: 'soon', expires_at: soon.expires_at },
  ]);
});
