import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AuditEntry } from '@gatehouse/contract/audit';
import { encodeCursor } from '@gatehouse/http/pagination';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, withTenant } from '@gatehouse/pg/pool';
import type { As } from '@gatehouse/test/service-under-test';
import { deleteStrays, dropOldPartition } from '../src/audit/audit-partition-system-store.ts';
import { keepPartitions } from '../src/audit/audit-retention-job.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let tenants: TenantServiceUnderTest;
let tenant: TestTenant;
const owner: As = { role: 'owner', keyId: newId() };
const path = '/internal/v1/owner/audit-log';

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
  tenant = await tenants.makeTenant();
});
afterAll(() => tenants.stop());

async function entries(query = ''): Promise<AuditEntry[]> {
  const answer = await tenants.call('GET', `${path}?limit=200&${query}`);
  expect(answer.status).toBe(200);
  return answer.body.data as unknown as AuditEntry[];
}

/** The only entry that a resource has for an action. */
async function entryOf(action: string, id: string): Promise<AuditEntry> {
  const found = (await entries(`action=${action}`)).filter(({ resource }) => resource.id === id);
  expect(found).toHaveLength(1);
  const [entry] = found;
  if (entry === undefined) throw new Error('no entry');
  return entry;
}

describe('the audit log', () => {
  it('shows actor, change, request and client address of each entry', async () => {
    const by: As = { ...tenant.admin, userId: 'ann' };
    const before = new Date();
    const created = await tenants.call('POST', '/v1/api-keys', {
      as: by,
      body: { name: 'Laptop', role: 'user' },
      headers: { 'x-gatehouse-client-ip': '2001:db8::7', 'x-request-id': 'request-1' },
    });
    const { key: _text, ...view } = created.body;
    const entry = await entryOf('api_key.created', created.body.id);
    expect(entry).toEqual({
      id: expect.any(String),
      at: expect.any(String),
      action: 'api_key.created',
      actor: { key_id: tenant.admin.keyId, role: 'admin', user_id: 'ann' },
      tenant_id: tenant.id,
      resource: { type: 'api_key', id: created.body.id },
      client_ip: '2001:db8::7',
      request_id: 'request-1',
      before: null,
      after: { ...view, tenant_id: tenant.id },
    });
    expect(Math.abs(Date.parse(entry.at) - before.getTime())).toBeLessThan(10_000);
  });

  it('has every change of an owner and of a tenant, with what was before and after', async () => {
    const made = await tenants.call('POST', '/internal/v1/owner/tenants', {
      as: owner,
      body: { slug: 'audited', name: 'Before' },
    });
    const { id } = made.body;
    await tenants.call('PATCH', `/internal/v1/owner/tenants/${id}`, { as: owner, body: { name: 'After' } });
    const admin: As = { tenantId: id, tenantSlug: 'audited', role: 'admin', keyId: newId() };
    const key = await tenants.makeKey(admin);
    await tenants.call('POST', `/v1/api-keys/${key.id}/rotate`, { as: admin, body: { overlap_seconds: 60 } });
    await tenants.call('POST', `/v1/api-keys/${key.id}/revoke`, { as: admin });
    const second = await tenants.call('POST', '/internal/v1/owner/api-keys', {
      as: owner,
      body: { name: 'Second', role: 'admin', tenant_id: id },
    });
    await tenants.call('POST', `/internal/v1/owner/api-keys/${second.body.id}/revoke`, { as: owner });

    const log = await entries(`tenant_id=${id}`);
    expect(log.map(({ action, actor }) => [action, actor.role])).toEqual([
      ['api_key.revoked', 'owner'],
      ['api_key.created', 'owner'],
      ['api_key.revoked', 'admin'],
      ['api_key.rotated', 'admin'],
      ['api_key.created', 'admin'],
      ['tenant.updated', 'owner'],
      // One transaction, one time.
      ...[log[6], log[7]].map((entry) => [entry?.action, 'owner']),
    ]);
    expect([log[6]?.action, log[7]?.action].sort()).toEqual(['api_key.created', 'tenant.created']);
    expect(log[2]).toMatchObject({
      before: { id: key.id, status: 'expiring', revoked_at: null },
      after: { id: key.id, status: 'revoked', revoked_at: expect.any(String) },
    });
    expect(log[3]).toMatchObject({ before: { status: 'active' }, after: { status: 'expiring' } });
    expect(log[5]).toMatchObject({ before: { name: 'Before' }, after: { name: 'After' } });
  });

  it('has an owner’s key under no tenant', async () => {
    const { body } = await tenants.call('POST', '/internal/v1/owner/api-keys', {
      as: owner,
      body: { name: 'Another owner', role: 'owner' },
    });
    expect(await entryOf('api_key.created', body.id)).toMatchObject({ tenant_id: null, client_ip: null });
  });

  it('holds no text and no hash of a key', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin);
    const rotated = await tenants.call('POST', `/v1/api-keys/${id}/rotate`, { as: tenant.admin, body: {} });
    const rows = await tenants.rows<{ text: string }>('select l::text as text from tenant.audit_log l');
    const [hash] = await tenants.rows<{ hex: string }>(
      `select encode(secret_sha256, 'hex') as hex from tenant.api_keys where id = $1`,
      [id],
    );
    const all = JSON.stringify([rows, await entries()]);
    expect(all).toContain(id);
    for (const secret of [key.slice(-43), rotated.body.key.slice(-43), tenant.adminKey.slice(-43)])
      expect(all).not.toContain(secret);
    expect(all).not.toContain(hash?.hex);
    expect(all).not.toContain('secret_sha256');
  });

  it('has nothing of what was refused, repeated, or changed nothing', async () => {
    const { id } = await tenants.makeKey(tenant.admin);
    const count = async () => (await entries()).length;
    const before = await count();
    const taken = await tenants.call('POST', '/internal/v1/owner/tenants', {
      body: { slug: tenant.slug, name: 'Taken' },
    });
    expect(taken.status).toBe(409);
    const headers = { 'idempotency-key': newId() };
    for (let n = 0; n < 2; n += 1) {
      const body = { name: 'Once', role: 'user' };
      await tenants.call('POST', '/v1/api-keys', { as: tenant.admin, body, headers });
      await tenants.call('POST', `/v1/api-keys/${id}/revoke`, { as: tenant.admin });
    }
    expect(await count()).toBe(before + 2);
  });

  it('has the first owner key, made by the system', async () => {
    const bootstrap = fileURLToPath(new URL('../src/bootstrap.ts', import.meta.url));
    await promisify(execFile)(process.execPath, [bootstrap, '--force'], {
      env: { DATABASE_URL: tenants.database.url },
    });
    const [entry] = await entries('action=api_key.created');
    expect(entry).toMatchObject({
      actor: { key_id: null, role: 'system', user_id: null },
      tenant_id: null,
      client_ip: null,
      request_id: null,
      after: { name: 'First owner key', role: 'owner', created_by: 'bootstrap' },
    });
  });
});

describe('a tenant’s own log', () => {
  const own = async (as: As, query = ''): Promise<AuditEntry[]> => {
    const answer = await tenants.call('GET', `/v1/audit-log?limit=200&${query}`, { as });
    expect(answer.status).toBe(200);
    return answer.body.data as unknown as AuditEntry[];
  };

  it('has what an owner sees of the tenant, but for the address of the owner', async () => {
    const made = await tenants.makeTenant();
    const headers = { 'x-gatehouse-client-ip': '2001:db8::7' };
    await tenants.call('PATCH', `/internal/v1/owner/tenants/${made.id}`, {
      ...{ as: owner, headers, body: { name: 'After' } },
    });
    await tenants.call('POST', '/v1/api-keys', {
      ...{ as: made.admin, headers, body: { name: 'Laptop', role: 'user' } },
    });
    const seen = await own(made.admin);
    const ofOwner = await entries(`tenant_id=${made.id}`);
    const withoutAddress = (log: AuditEntry[]) => log.map((entry) => ({ ...entry, client_ip: null }));
    expect(withoutAddress(seen)).toEqual(withoutAddress(ofOwner));
    const addresses = (log: AuditEntry[]) => log.slice(0, 2).map(({ client_ip }) => client_ip);
    expect(addresses(ofOwner)).toEqual(['2001:db8::7', '2001:db8::7']);
    expect(addresses(seen)).toEqual(['2001:db8::7', null]);
  });

  it('has nothing of other tenants, whatever is asked for', async () => {
    const [mine, theirs] = [await tenants.makeTenant(), await tenants.makeTenant()];
    const { id } = await tenants.makeKey(theirs.admin);
    const foreign = await entryOf('api_key.created', id);
    expect(await own(mine.admin, `actor=${theirs.admin.keyId ?? ''}`)).toEqual([]);
    const cursor = encodeCursor(foreign.id);
    const after = await tenants.call('GET', `/v1/audit-log?cursor=${cursor}`, { as: mine.admin });
    expect(JSON.stringify(after.body)).not.toContain(theirs.id);
    const asked = await tenants.call('GET', `/v1/audit-log?tenant_id=${theirs.id}`, { as: mine.admin });
    expect([asked.status, asked.body.error.code]).toEqual([400, 'unknown_parameter']);
  });

  it('is filtered and paged as the owner’s', async () => {
    const { admin } = await tenants.makeTenant();
    for (let count = 0; count < 3; count += 1) await tenants.makeKey(admin);
    const filter = `action=api_key.created&actor=${admin.keyId ?? ''}`;
    expect(await own(admin, filter)).toHaveLength(3);
    const page = await tenants.call('GET', `/v1/audit-log?limit=2&${filter}`, { as: admin });
    expect([page.body.data.length, page.body.has_more]).toEqual([2, true]);
    const rest = await own(admin, `${filter}&cursor=${page.body.next_cursor ?? ''}`);
    expect(rest).toHaveLength(1);
    const wrong = await tenants.call(
      'GET',
      '/v1/audit-log?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
      { as: admin },
    );
    expect([wrong.status, wrong.body.error.param]).toEqual([400, 'from']);
  });
});

describe('asking for it', () => {
  it('filters by tenant, actor, action and time', async () => {
    const other = await tenants.makeTenant();
    const { id } = await tenants.makeKey(other.admin);
    const { at } = await entryOf('api_key.created', id);
    const ids = async (query: string) => (await entries(query)).map(({ resource }) => resource.id);
    expect(await ids(`actor=${other.admin.keyId ?? ''}`)).toEqual([id]);
    expect(await ids(`tenant_id=${other.id}&action=tenant.created`)).toEqual([other.id]);
    expect(await ids(`tenant_id=${other.id}&action=api_key.revoked`)).toEqual([]);
    expect(await ids(`actor=${newId()}`)).toEqual([]);
    const next = new Date(Date.parse(at) + 1).toISOString();
    expect(await ids(`actor=${other.admin.keyId ?? ''}&from=${at}&to=${next}`)).toEqual([id]);
    expect(await ids(`tenant_id=${other.id}&from=${next}`)).toEqual([]);
    expect(await ids(`tenant_id=${other.id}&to=${at}`)).not.toContain(id);
  });

  it('goes page by page, newest first, also while entries are added', async () => {
    const { id, admin } = await tenants.makeTenant();
    for (let n = 0; n < 5; n += 1) await tenants.makeKey(admin);
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await tenants.call('GET', `${path}?tenant_id=${id}&limit=2${cursor}`);
      seen.push(...body.data.map((entry) => entry.id));
      cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
      expect(body.has_more).toBe(cursor !== '');
      await tenants.makeKey(admin);
    } while (cursor !== '');
    expect(seen).toHaveLength(7);
    const all = await entries(`tenant_id=${id}`);
    expect(all.slice(-7).map((entry) => entry.id)).toEqual(seen);
    const times = all.map(({ at }) => at);
    expect(times).toEqual([...times].sort().reverse());
  });

  it.each([
    ['tenant_id=acme', 'tenant_id'],
    ['actor=ann', 'actor'],
    ['action=agent.exploded', 'action'],
    ['from=yesterday', 'from'],
    ['to=2026-13-01T00:00:00Z', 'to'],
    ['from=2026-11-02T00:00:00Z&to=2026-11-02T01:00:00%2B02:00', 'from'],
    ['limit=0', 'limit'],
    ['cursor=x', 'cursor'],
    ['resource=agent', 'resource'],
  ])('answers ?%s with a 400 that names it', async (query, param) => {
    const answer = await tenants.call('GET', `${path}?${query}`);
    expect(answer).toMatchObject({ status: 400, body: { error: { param } } });
  });

  it('is read by owner keys only', async () => {
    const answer = await tenants.call('GET', path, { as: tenant.admin });
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'role_missing' } } });
  });
});

describe('entries', () => {
  it.each(['tenant_app', 'tenant_system'])('cannot be changed or deleted by %s', async (role) => {
    const pool = createPool({ url: tenants.database.url, role, max: 1, log: createLogger('test', 'silent') });
    try {
      for (const statement of [
        `update tenant.audit_log set action = 'x'`,
        'delete from tenant.audit_log',
        'truncate tenant.audit_log',
      ])
        await expect(withTenant(pool, tenant.id, (db) => db.query(statement))).rejects.toMatchObject({
          code: '42501',
        });
    } finally {
      await pool.end();
    }
  });

  it('are neither written nor read for another tenant by tenant_app', async () => {
    const role = 'tenant_app';
    const pool = createPool({ url: tenants.database.url, role, max: 1, log: createLogger('test', 'silent') });
    const inMine = (text: string, values: unknown[] = []) =>
      withTenant(pool, tenant.id, (db) => db.query(text, values));
    const insert = `insert into tenant.audit_log (id, action, actor_role, tenant_id, resource_type, resource_id)
                    values ($1, 'x', 'admin', $2, 'x', $1)`;
    try {
      await expect(inMine(insert, [newId(), newId()])).rejects.toMatchObject({ code: '42501' });
      const seen = await inMine('select distinct tenant_id from tenant.audit_log');
      expect(seen.rows).toEqual([{ tenant_id: tenant.id }]);
      await expect(pool.query('select id from tenant.audit_log')).rejects.toMatchObject({ code: '42501' });
    } finally {
      await pool.end();
    }
  });
});

// Last: it drops the entries of the other tests.
describe('the months of the log', () => {
  it('are partitions made ahead, and dropped once they are over for as long as the setting says', async () => {
    const url = tenants.database.url;
    const pool = createPool({ url, role: 'tenant_system', max: 1, log: createLogger('test', 'silent') });
    try {
      const partitions = async () =>
        (
          await tenants.rows<{ name: string }>(
            `select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
             where inhparent = 'tenant.audit_log'::regclass order by relname`,
          )
        ).map(({ name }) => name);
      const log = createLogger('test', 'silent');
      const round = (days?: number): Promise<boolean> => keepPartitions({ system: pool, log, days });
      const strays = async (): Promise<number> =>
        (await tenants.rows(`select from tenant.audit_log where at < now() - interval '2 years'`)).length;
      await round();
      expect(await partitions()).toHaveLength(5);
      expect(await round()).toBe(false);
      expect(await partitions()).toHaveLength(5);
      await expect(dropOldPartition(pool, 29)).rejects.toThrow('30 days');
      await expect(deleteStrays(pool, 29)).rejects.toThrow('30 days');
      await tenants.rows(
        `create table tenant.audit_log_2020_01 partition of tenant.audit_log
           for values from ('2020-01-01Z') to ('2020-02-01Z')`,
      );
      expect(await round()).toBe(false);
      expect(await partitions()).toContain('audit_log_2020_01');
      expect(await round(30)).toBe(true);
      expect(await partitions()).not.toContain('audit_log_2020_01');
      while (await round(30));
      // An old entry that comes late finds no partition, and is stored and deleted all the same.
      await tenants.rows(
        `insert into tenant.audit_log (id, at, action, actor_role, resource_type, resource_id)
         values (gen_random_uuid(), now() - interval '3 years', 'x', 'owner', 'x', gen_random_uuid())`,
      );
      expect([await strays(), await round(), await strays()]).toEqual([1, false, 1]);
      expect([await round(30), await strays(), await round(30)]).toEqual([true, 0, false]);
    } finally {
      await pool.end();
    }
  });
});
