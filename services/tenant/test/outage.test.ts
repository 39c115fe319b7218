import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isOutage } from '@gatehouse/grpc/errors';
import { sleep } from '@gatehouse/kit/clock';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, withTenant } from '@gatehouse/pg/pool';
import { createTestDatabase } from '@gatehouse/test/database';
import { DatabaseProxy } from '@gatehouse/test/database-proxy';
import { testIdentity } from '@gatehouse/test/identity';
import { loadConfig } from '../src/config.ts';
import { createTenantService } from '../src/service.ts';
import { environmentOf, TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

const log = createLogger('tenant', 'silent');

let proxy: DatabaseProxy;
let tenants: TenantServiceUnderTest;
let tenant: TestTenant;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start({
    databaseUrl: async (url) => {
      proxy = new DatabaseProxy(url);
      await proxy.open();
      return proxy.url;
    },
  });
  tenant = await tenants.makeTenant();
});
afterAll(async () => {
  await tenants.stop();
  await proxy.cut();
});

const admin = (path: string) => fetch(`http://127.0.0.1:${tenants.service.adminPort}${path}`);
const unknownKey = { keyId: 'x'.repeat(16), secretSha256: Buffer.alloc(32) };

describe('while the database is away', () => {
  it('answers 503 and never 401, is alive but not ready, and recovers by itself', async () => {
    expect((await admin('/readyz')).status).toBe(200);
    await proxy.cut();

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
    expect((await admin('/livez')).status).toBe(200);
    expect((await admin('/readyz')).status).toBe(503);

    await proxy.open();
    expect((await tenants.call('GET', '/v1/api-keys', { as: tenant.admin })).status).toBe(200);
    expect((await tenants.authenticate(tenant.adminKey)).result?.$case).toBe('key');
    expect((await admin('/readyz')).status).toBe(200);
  });

  it('loses connections without losing the process or answering anything but 503', async () => {
    const statuses = new Set<number>();
    let going = true;
    const calls = Array.from({ length: 4 }, async () => {
      while (going) statuses.add((await tenants.call('GET', '/v1/api-keys', { as: tenant.admin })).status);
    });
    for (let round = 0; round < 10; round += 1) {
      await tenants.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name like 'gatehouse tenant%' and datname = current_database()`,
      );
      await sleep(20);
    }
    going = false;
    await Promise.all(calls);
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
        await tenants.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
        await sleep(100);
        await db.query('select 1');
      });
      await expect(lost).rejects.toMatchObject({ code: 'database_unavailable' });
      expect((await pool.query('select 1')).rowCount).toBe(1);
    } finally {
      await pool.end();
    }
  });
});

describe('starting', () => {
  it('waits for a database that is away, and then starts', async () => {
    const late = new DatabaseProxy(tenants.database.url);
    await late.open();
    await late.cut();
    const service = await createTenantService(loadConfig(environmentOf(late.url, tenants.identity)), { log });
    const started = service.start();
    await sleep(200);
    expect((await fetch(`http://127.0.0.1:${service.adminPort}/readyz`)).status).toBe(503);
    await late.open();
    await started;
    expect((await fetch(`http://127.0.0.1:${service.adminPort}/readyz`)).status).toBe(200);
    await service.stop();
    await late.cut();
  });

  it('can be given up while it waits', async () => {
    const gone = new DatabaseProxy(tenants.database.url);
    await gone.open();
    await gone.cut();
    const service = await createTenantService(loadConfig(environmentOf(gone.url, tenants.identity)), { log });
    const started = service.start();
    await sleep(200);
    await Promise.all([service.stop(), expect(started).rejects.toThrow('stopped')]);
  });

  it.each([
    ['behind', `delete from tenant.migrations`, /pending migrations in tenant: 0001_/],
    [
      'ahead',
      `insert into tenant.migrations (name, run_on) values ('9999_contract_x', now())`,
      /too new for this release: 9999_contract_x/,
    ],
    ['missing', `drop schema tenant cascade`, /run the migration step first/],
  ])('is refused on a schema that is %s', async (_which, damage, reason) => {
    const database = await createTestDatabase('tenant');
    const identity = await testIdentity();
    const admin = createPool({ url: database.adminUrl, role: 'none', max: 1, log });
    await admin.query(damage);
    await admin.end();
    const service = await createTenantService(loadConfig(environmentOf(database.url, identity)), { log });
    await expect(service.start()).rejects.toThrow(reason);
    await database.drop();
  });
});
