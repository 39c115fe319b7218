import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { createPool } from '@gatehouse/pg/pool';
import type { ListChangesResponse } from '@gatehouse/proto/tenant/v1/tenant';
import { query } from '@gatehouse/test/query';
import { oldChanges } from '../src/keys/change-system-store.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let service: TenantServiceUnderTest;
let tenant: TestTenant;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  tenant = await service.makeTenant();
});
afterAll(() => service.stop());

async function list(position = '', at = service.service): Promise<ListChangesResponse> {
  return (await service.peer('edge', at)).call('listChanges', { position }, { deadlineMs: 5_000 });
}

/** The subjects that `work` changes. */
async function changedBy(work: () => Promise<unknown>): Promise<string[]> {
  const { position } = await list();
  await work();
  const { subjects, startsOver } = await list(position);
  expect(startsOver).toBe(false);
  return subjects.toSorted((a, b) => a.length - b.length);
}

const asTenant = (method: string, path: string, body?: unknown) =>
  service.call(method, path, { as: tenant.admin, ...(body !== undefined && { body }) });
const idOf = (text: string): string => text.slice(4, 20);

describe('ListChanges', () => {
  it('lists keys that are revoked, rotated or deleted', async () => {
    const { id, key } = await service.makeKey(tenant.admin);
    const rotate = () => asTenant('POST', `/v1/api-keys/${id}/rotate`, { overlap_seconds: 60 });
    expect(await changedBy(rotate)).toEqual([idOf(key)]);
    expect(await changedBy(() => asTenant('POST', `/v1/api-keys/${id}/revoke`))).toEqual([idOf(key)]);
    // A second revocation changes nothing.
    expect(await changedBy(() => asTenant('POST', `/v1/api-keys/${id}/revoke`))).toEqual([]);
    const remove = () => service.rows('delete from tenant.api_keys where id = $1', [id]);
    expect(await changedBy(remove)).toEqual([idOf(key)]);
  });

  it('lists tenants whose settings, own keys or limits of keys change', async () => {
    const path = `/internal/v1/owner/tenants/${tenant.id}`;
    const suspend = () => service.call('PATCH', path, { body: { retention_days: 30 } });
    expect(await changedBy(suspend)).toEqual([tenant.id]);
    const limits = { requests_per_minute: 5 };
    expect(await changedBy(() => service.makeKey(tenant.admin, { limits }))).toEqual([tenant.id]);
    const insert = `insert into tenant.provider_keys (id, tenant_id, provider, key, prefix)
      values (gen_random_uuid(), $1, 'openai', 'sealed', 'sk-')`;
    expect(await changedBy(() => service.rows(insert, [tenant.id]))).toEqual([tenant.id]);
    const remove = 'delete from tenant.provider_keys where tenant_id = $1';
    expect(await changedBy(() => service.rows(remove, [tenant.id]))).toEqual([tenant.id]);
  });

  it('lists neither new keys nor uses', async () => {
    expect(
      await changedBy(async () => {
        const { id } = await service.makeKey(tenant.admin);
        await service.rows('update tenant.api_keys set last_used_at = now() where id = $1', [id]);
      }),
    ).toEqual([]);
  });

  it('lists changes in whatever order they commit, each once', async () => {
    const [first, second] = await Promise.all([service.makeKey(tenant.admin), service.makeKey(tenant.admin)]);
    const revoke = 'update tenant.api_keys set revoked_at = now() where id = $1';
    await service.rows('begin');
    await service.rows(revoke, [first.id]);
    const start = await list();
    await query(service.database.adminUrl, revoke, [second.id]);
    const middle = await list(start.position);
    expect(middle.subjects).toEqual([idOf(second.key)]);
    await service.rows('commit');
    const end = await list(middle.position);
    expect(end.subjects).toEqual([idOf(first.key)]);
    expect((await list(end.position)).subjects).toEqual([]);
  });

  it('continues on another replica', async () => {
    const replica = await service.startReplica();
    const { id, key } = await service.makeKey(tenant.admin);
    const { position } = await list();
    await asTenant('POST', `/v1/api-keys/${id}/revoke`);
    expect((await list(position, replica)).subjects).toEqual([idOf(key)]);
    await replica.stop();
  });

  it('starts over where changes may be missing', async () => {
    const { position } = await list();
    const [server = '', at = '', snapshot = ''] = position.split(' ');
    const positions = [
      '',
      "'; select 1 --",
      `${Number(server) - 1} ${at} ${snapshot}`,
      `${server} ${Number(at) - 61} ${snapshot}`,
    ];
    for (const lost of positions) {
      expect(await list(lost)).toMatchObject({ startsOver: true, subjects: [] });
    }
    expect((await list(position)).startsOver).toBe(false);
  });

  it('lists a tenant in place of more than 1,000 of its users, and others as they are', async () => {
    const [other, subject] = [await service.makeTenant(), newId()];
    const insert = (count: number) =>
      service.rows(
        `insert into tenant.changes (tenant_id, subject) select $1, gen_random_uuid() from generate_series(1, $2)`,
        [tenant.id, count],
      );
    const { position: start } = await list();
    await insert(1_000);
    const { position, subjects } = await list(start);
    expect(subjects).toHaveLength(1_000);
    await insert(1);
    await service.rows('insert into tenant.changes (tenant_id, subject) values ($1, $2)', [
      other.id,
      subject,
    ]);
    expect((await list(position)).subjects).toHaveLength(2);
    const { subjects: all, tenantIds, startsOver } = await list(start);
    expect(startsOver).toBe(false);
    const pairs = all.map((each, index) => [each, tenantIds[index]]);
    expect(pairs.toSorted()).toEqual(
      [
        [tenant.id, tenant.id],
        [subject, other.id],
      ].toSorted(),
    );
  });

  it('starts over beyond 10,000 subjects, and not because of many of one tenant', async () => {
    const { position } = await list();
    await service.rows(
      `insert into tenant.changes (tenant_id, subject) select $1, gen_random_uuid() from generate_series(1, 20000)`,
      [tenant.id],
    );
    expect(await list(position)).toMatchObject({ startsOver: false, subjects: [tenant.id] });
    await service.rows(
      `insert into tenant.changes (tenant_id) select gen_random_uuid() from generate_series(1, 10000)`,
    );
    expect(await list(position)).toMatchObject({ startsOver: true, subjects: [], tenantIds: [] });
  });

  it('forgets changes after ten minutes, some at a time', async () => {
    await service.rows(`insert into tenant.changes (key_id, at) select 'old', now() - interval '11 minutes'
      from generate_series(1, 3)`);
    const log = createLogger('tenant', 'silent');
    const pool = createPool({ url: service.database.url, role: 'tenant_system', max: 1, log });
    for (let round = 0; round < 2; round += 1)
      expect(await deleteOldRows(pool, oldChanges, 2)).toBeLessThanOrEqual(2);
    await pool.end();
    expect(await service.rows(`select from tenant.changes where key_id = 'old'`)).toEqual([]);
  });

  it('is for services that keep settings or keys', async () => {
    const peer = await service.peer('analytics');
    await expect(peer.call('listChanges', { position: '' }, { deadlineMs: 2_000 })).rejects.toMatchObject({
      code: 'caller_not_allowed',
    });
  });
});
