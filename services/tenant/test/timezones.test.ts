import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { inLanes, timezoneNames } from '@gatehouse/test/timezones';
import { LimitSystemStore } from '../src/limits/limit-system-store.ts';
import { limitsOf, Replica, settlementOf } from './replica.ts';
import { TenantServiceUnderTest } from './tenant-service.ts';

const log = createLogger('tenant', 'silent');

let service: TenantServiceUnderTest;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
});
afterAll(() => service.stop());

const path = '/internal/v1/owner/tenants';

/** The time zones that are refused; the others work. */
async function refusedOf(timezones: readonly string[]): Promise<string[]> {
  const limits = { requests_per_minute: 60 };
  const tenant = await service.makeTenant({ limits, budget: { usd: '1', period: 'month' } });
  const refused: string[] = [];
  const replica = new Replica(service);
  for (const timezone of timezones) {
    const { status, body } = await service.call('PATCH', `${path}/${tenant.id}`, { body: { timezone } });
    if (status === 200) {
      expect(await limitsOf(service, tenant)).toHaveLength(2);
      expect((await replica.leaseOne(tenant.id, { needs: [] })).limit).toBe(60n);
    } else {
      expect([timezone, status, body.error]).toMatchObject([
        timezone,
        400,
        { code: 'invalid_value', param: 'timezone' },
      ]);
      refused.push(timezone);
    }
  }
  return refused;
}

it('a time zone is either refused with a 400 or works wherever it is used', async () => {
  const refused = (await Promise.all(inLanes(timezoneNames).map(refusedOf))).flat();
  expect(refused).toEqual(
    expect.arrayContaining(['US/Pacific-New', 'FOO+5', 'localtime', 'posix/Europe/Berlin']),
  );
  for (const name of ['Europe/Berlin', 'europe/berlin', 'Asia/Calcutta', 'Etc/GMT+5', 'UTC'])
    expect(refused).not.toContain(name);
});

const loseTimezone = (id: string) =>
  service.rows(
    `update tenant.tenants set timezone = 'US/Pacific-New', budget_timezone = 'US/Pacific-New' where id = $1`,
    [id],
  );

it('a tenant with a stored time zone that the database has lost can be suspended', async () => {
  const lost = await service.makeTenant();
  await loseTimezone(lost.id);
  const answer = await service.call('PATCH', `${path}/${lost.id}`, { body: { status: 'suspended' } });
  expect(answer.status).toBe(200);
});

it('limits of a tenant with a stored time zone that the database has lost go by UTC, and the tenant is found', async () => {
  const fields = { limits: { requests_per_minute: 60 }, budget: { usd: '1', period: 'day' } };
  const [lost, utc] = [await service.makeTenant(fields), await service.makeTenant(fields)];
  const key = await service.makeKey(lost.admin, { budget: { usd: '1', period: 'month' } });
  await loseTimezone(lost.id);
  expect(await limitsOf(service, { ...lost, admin: { ...lost.admin, keyId: key.id } })).toHaveLength(3);
  const replica = new Replica(service);
  const lease = (id: string) => replica.leaseOne(id, { resource: Resource.BUDGET, needs: [5n] });
  const grant = await lease(lost.id);
  expect(grant.windowStart).toBe((await lease(utc.id)).windowStart);
  expect(await replica.settlePartially([settlementOf(lost, replica, grant, 5n)])).toEqual([]);
  const pool = createPool({ url: service.database.url, role: 'tenant_system', max: 1, log });
  const unknown = await new LimitSystemStore({ known: pool, system: pool }).findUnknownTimezones();
  expect(unknown).toContainEqual({ id: lost.id, timezone: 'US/Pacific-New' });
  expect(unknown).not.toContainEqual(expect.objectContaining({ id: utc.id }));
  await pool.end();
});

it('a tenant is not created with a time zone that the database does not know', async () => {
  const answer = await service.call('POST', path, {
    body: { slug: 'new-pacific', name: 'A tenant', timezone: 'US/Pacific-New' },
  });
  expect(answer.status).toBe(400);
  expect(answer.body.error).toMatchObject({ code: 'invalid_value', param: 'timezone' });
});
