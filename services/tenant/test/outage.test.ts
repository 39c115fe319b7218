import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isOutage } from '@gatehouse/grpc/errors';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, withTenant } from '@gatehouse/pg/pool';
import { statusesWhileConnectionsEnd } from '@gatehouse/test/lost-connections';
import { describeStarting } from '@gatehouse/test/starting';
import { eventually } from '@gatehouse/test/eventually';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

const log = createLogger('tenant', 'silent');

let tenants: TenantServiceUnderTest;
let tenant: TestTenant;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start({ overProxy: true });
  tenant = await tenants.makeTenant();
});
afterAll(() => tenants.stop());

const unknownKey = { keyId: 'x'.repeat(16), secretSha256: Buffer.alloc(32) };

describe('while the database is away', () => {
  it('answers 503 and never 401, is alive but not ready, and recovers by itself', async () => {
    expect((await tenants.admin('readyz')).status).toBe(200);
    await tenants.proxy.cut();

    for (const [path, as] of [
      ['/v1/api-keys', tenant.admin],
      ['/internal/v1/owner/tenants', { role: 'owner' }],
      ['/internal/v1/owner/api-keys', { role: 'owner' }],
    ] as const) {
      const answer = await tenants.call('GET', path, { as });
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(answer.body.error).toMatchObject({ code: 'database_unavailable', type: 'unavailable_error' });
    }
    const create = await tenants.call('POST', '/v1/api-keys', {
      as: tenant.admin,
      body: { name: 'x', role: 'user' },
    });
    expect(create.status).toBe(503);
    for (const attempt of [
      () => tenants.authenticate(tenant.adminKey),
      () => tenants.authenticateParts(unknownKey.keyId, unknownKey.secretSha256),
      () => tenants.settings(tenant.id),
    ]) {
      const error = await attempt().catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: 'database_unavailable' });
      expect(isOutage(error)).toBe(true);
    }
    expect((await tenants.call('GET', '/v1/whoami', { as: tenant.admin })).status).toBe(200);
    expect((await tenants.admin('livez')).status).toBe(200);
    expect((await tenants.admin('readyz')).status).toBe(503);

    await tenants.proxy.open();
    expect((await tenants.call('GET', '/v1/api-keys', { as: tenant.admin })).status).toBe(200);
    expect((await tenants.authenticate(tenant.adminKey)).result?.$case).toBe('key');
    expect((await tenants.admin('readyz')).status).toBe(200);
  });

  it('loses connections without losing the process or answering anything but 503', async () => {
    const statuses = await statusesWhileConnectionsEnd(tenants, 'tenant', async () => {
      return (await tenants.call('GET', '/v1/api-keys', { as: tenant.admin })).status;
    });
    statuses.delete(503);
    expect([...statuses]).toEqual([200]);
  });
});

describe('a transaction whose connection is lost', () => {
  it('fails as an outage, and the pool goes on', async () => {
    const pool = createPool({ url: tenants.database.url, role: 'tenant_app', max: 1, log });
    try {
      const lost = withTenant(pool, tenant.id, async (db) => {
        const { rows } = await db.query<{ pid: number }>('select pg_backend_pid() as pid');
        await tenants.rows('select pg_terminate_backend($1)', [rows[0]?.pid]);
        await eventually(async () => {
          expect(await tenants.rows('select from pg_stat_activity where pid = $1', [rows[0]?.pid])).toEqual(
            [],
          );
        });
        await db.query('select 1');
      });
      await expect(lost).rejects.toMatchObject({ code: 'database_unavailable' });
      expect((await pool.query('select 1')).rowCount).toBe(1);
    } finally {
      await pool.end();
    }
  });
});

describeStarting('tenant', () => tenants);
