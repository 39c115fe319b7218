import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { verbsOf } from '@gatehouse/pg/rows';
import { ApiKeySystemStore, type ApiKeyFilter } from '../src/keys/api-key-system-store.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

const log = createLogger('test', 'silent');

let service: TenantServiceUnderTest;
let pool: Pool;
/** A tenant with 100,000 user keys, which are the newest of all, and the one admin key that it was created with. */
let users: TestTenant;
/** A tenant with 40,000 admin keys. */
let admins: TestTenant;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  pool = createPool({ url: service.database.url, role: 'tenant_system', max: 1, log });
  admins = await service.makeTenant();
  users = await service.makeTenant();
  await makeKeys(admins, 'admin', { first: 1, count: 40_000 });
  await makeKeys(users, 'user', { first: 900_001, count: 100_000 });
  await service.rows('analyze tenant.api_keys');
});
afterAll(async () => {
  await pool.end();
  await service.stop();
});

/** With ids in order: the first of them is the oldest. */
async function makeKeys(
  { id }: TestTenant,
  role: string,
  { first, count }: { first: number; count: number },
): Promise<void> {
  await service.rows(
    `insert into tenant.api_keys (id, tenant_id, key_id, secret_sha256, name, role, scopes, created_by, last_used_at)
     select (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, $1, 'k' || lpad(n::text, 15, '0'),
            sha256(n::text::bytea), 'k', $2, '{}', 'x', now()
     from generate_series($3::integer, $3::integer + $4::integer - 1) as n`,
    [id, role, first, count],
  );
}

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** Rows of keys that a plan has read. */
function rowsRead(node: PlanNode): number {
  const below = (node.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), 0);
  const own = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0);
  return below + (node['Relation Name'] === 'api_keys' ? own * node['Actual Loops'] : 0);
}

/** One page, and how many rows its statements have read. */
async function page(
  fields: Partial<ApiKeyFilter>,
): Promise<{ ids: string[]; lookedTo: string | null; read: number }> {
  let read = 0;
  const explaining = verbsOf(async (statement, values = []) => {
    const text = typeof statement === 'string' ? statement : statement.text;
    const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (analyze, format json) ${text}`,
      values,
    );
    read += rows.reduce((sum, row) => sum + rowsRead(row['QUERY PLAN'][0].Plan), 0);
    return pool.query(text, values);
  });
  const filter = { roles: ['owner', 'admin'] as const, tenantId: null, status: null, unusedSince: null };
  const { rows, lookedTo } = await new ApiKeySystemStore(explaining as unknown as Pool).list({
    ...filter,
    limit: 20,
    before: null,
    ...fields,
  });
  return { ids: rows.map(({ id }) => id), lookedTo, read };
}

it('a page of keys by role or tenant reads about what it shows', async () => {
  const all = await page({});
  expect(all.ids).toHaveLength(21);
  expect(all.read).toBeLessThanOrEqual(50);
  const own = await page({ tenantId: users.id });
  expect(own.ids).toHaveLength(1);
  expect(own.read).toBeLessThanOrEqual(50);
  const none = await page({ roles: ['owner'] });
  expect(none.ids).toEqual([]);
  expect(none.read).toBeLessThanOrEqual(50);
  const usersKeys = await page({ roles: ['user'], tenantId: users.id });
  expect(usersKeys.ids).toHaveLength(21);
  expect(usersKeys.read).toBeLessThanOrEqual(50);
});

it('a page of keys by status or last use reads a bounded part of them, and says where to go on', async () => {
  for (const filter of [{ status: 'revoked' }, { unusedSince: '2020-01-01T00:00:00Z' }] as const) {
    const first = await page({ ...filter, roles: ['admin'] });
    expect(first.lookedTo).not.toBeNull();
    expect(first.read).toBeLessThanOrEqual(35_000);
  }
});

it('pages that find nothing lead to the ones that do', async () => {
  const oldest = '00000001-0000-7000-8000-000000000000';
  await service.rows('update tenant.api_keys set revoked_at = now() where id = $1', [oldest]);
  const found: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const { body } = await service.call(
      'GET',
      `/internal/v1/owner/api-keys?status=revoked${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    found.push(...body.data.map(({ id }) => id));
    expect(body.has_more).toBe(body.next_cursor !== null);
    cursor = body.next_cursor;
    pages += 1;
  } while (cursor !== null);
  expect(found).toEqual([oldest]);
  expect(pages).toBe(5);
});
