import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { pageBytes } from '@gatehouse/kit/page';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { AuditLogSystemStore } from '../src/audit/audit-log-system-store.ts';
import { TenantSystemStore } from '../src/tenants/tenant-system-store.ts';
import { TenantServiceUnderTest } from './tenant-service.ts';

const count = 40;

let tenants: TenantServiceUnderTest;
let pool: Pool;
beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
  pool = createPool({
    url: tenants.database.url,
    role: 'tenant_system',
    max: 1,
    log: createLogger('tenant', 'silent'),
  });
});
afterAll(async () => {
  await pool.end();
  await tenants.stop();
});

/** Ids on all pages of a list, each page within the bound; `between` runs after each page. */
async function idsOf(list: string, between: () => Promise<unknown>): Promise<string[]> {
  const ids: string[] = [];
  for (let query: string | null = 'limit=200'; query !== null;) {
    const { body } = await tenants.call('GET', `${list}${list.includes('?') ? '&' : '?'}${query}`);
    expect(body.data.length).toBeGreaterThan(0);
    expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThan(pageBytes + 1_000);
    ids.push(...body.data.map(({ id }) => id));
    query = body.next_cursor === null ? null : `limit=200&cursor=${body.next_cursor}`;
    await between();
  }
  return ids;
}

function sizeOf(rows: readonly unknown[]): number {
  return Buffer.byteLength(JSON.stringify(rows));
}

describe('tenants with 1,000 models of 256 characters each', () => {
  const models = Array.from({ length: 1_000 }, (_, n) => `${String(n).padStart(4, '0')}${'漢'.repeat(252)}`);

  it('are listed in pages of 4 MiB at most, each once, also while others are made', async () => {
    const first = await tenants.makeTenant({ allowed_models: models });
    const copies = Array.from({ length: count - 1 }, newId);
    await tenants.rows(
      `insert into tenant.tenants (id, slug, name, status, limits, allowed_models, timezone, retention_days,
         previews_enabled, previews_max_chars)
       select copy, slug || copy, name, status, limits, allowed_models, timezone, retention_days, previews_enabled,
         previews_max_chars
       from tenant.tenants, unnest($2::uuid[]) as copy where id = $1`,
      [first.id, copies],
    );
    const ids = await idsOf('/internal/v1/owner/tenants', () => tenants.makeTenant());
    expect(ids).toEqual([first.id, ...copies].sort().reverse());
    const filter = { status: null, q: null, limit: 200, before: null };
    const read = await new TenantSystemStore(pool).list(filter);
    expect(read.more).toBe(true);
    expect(sizeOf(read.rows)).toBeLessThan(pageBytes + 2 * sizeOf(models));
  });
});

describe('entries of the audit log with large views', () => {
  it('are listed in pages of 4 MiB at most, each once, also while others are made', async () => {
    const tenantId = newId();
    const view = { text: 'x'.repeat(100_000) };
    const insert = (ids: string[]): Promise<unknown> =>
      tenants.rows(
        `insert into tenant.audit_log (id, action, actor_role, tenant_id, resource_type, resource_id, before, after)
         select id, 'agent.updated', 'admin', $2, 'agent', id, $3, $3 from unnest($1::uuid[]) as id`,
        [ids, tenantId, JSON.stringify(view)],
      );
    const made = Array.from({ length: count }, newId);
    await insert(made);
    const list = `/internal/v1/owner/audit-log?tenant_id=${tenantId}`;
    expect(await idsOf(list, () => insert([newId()]))).toEqual(made.sort().reverse());
    const none = { actor: null, action: null, from: null, to: null, before: null };
    const read = await new AuditLogSystemStore(pool).list({ ...none, tenantId, limit: 200 });
    expect(read.more).toBe(true);
    expect(sizeOf(read.rows)).toBeLessThan(pageBytes + 3 * sizeOf([view]));
  });
});
