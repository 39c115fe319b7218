import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { tablesWithoutPolicies } from '@gatehouse/test/rls-audit';
import { holdLogouts } from '../src/sessions/login-store.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let tenants: TenantServiceUnderTest;
let mine: TestTenant;
let theirs: TestTenant;
let app: Pool;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
  mine = await tenants.makeTenant();
  theirs = await tenants.makeTenant();
  // One connection, so that each query meets what the one before left behind.
  app = poolAs('tenant_app');
});
afterAll(async () => {
  await app.end();
  await tenants.stop();
});

function poolAs(role: string): Pool {
  return createPool({ url: tenants.database.url, role, max: 1, log: createLogger('test', 'silent') });
}

const tables = [
  'tenant.tenants',
  'tenant.api_keys',
  'tenant.idempotency_records',
  'tenant.user_deletions',
  'tenant.transfer_previews',
  'tenant.sessions',
];

describe('the role tenant_app', () => {
  it('raises without a tenant, also on a connection that had one', async () => {
    for (const table of tables) {
      await expect(app.query(`select id from ${table}`)).rejects.toMatchObject({ code: '42501' });
      await withTenant(app, mine.id, (db) => db.query(`select id from ${table}`));
      await expect(app.query(`select id from ${table}`)).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('raises on a malformed tenant', async () => {
    await expect(
      app.query(`begin; set local gatehouse.tenant_id = 'acme'; select id from tenant.api_keys`),
    ).rejects.toMatchObject({ code: '22P02' });
    await app.query('rollback');
    await expect(withTenant(app, "'; reset role --", (db) => db.query('select 1'))).rejects.toThrow();
  });

  it('sees and changes the rows of its tenant only', async () => {
    await withTenant(app, mine.id, async (db) => {
      const keys = await db.query<{ tenant_id: string }>('select tenant_id from tenant.api_keys');
      expect(keys.rows).toEqual([{ tenant_id: mine.id }]);
      const rows = await db.query<{ id: string }>('select id from tenant.tenants');
      expect(rows.rows).toEqual([{ id: mine.id }]);
      const revoked = await db.query('update tenant.api_keys set revoked_at = now() where tenant_id = $1', [
        theirs.id,
      ]);
      expect(revoked.rowCount).toBe(0);
    });
  });

  it.each([
    ['insert a foreign key', () => insertKey(theirs.id, 'admin'), '42501'],
    ['insert an owner key', () => insertKey(null, 'owner'), '42501'],
    ['move a key', () => inMine('update tenant.api_keys set tenant_id = $1', theirs.id), '42501'],
    ['change what a key may do', () => inMine(`update tenant.api_keys set role = 'owner'`), '42501'],
    ['delete a key', () => inMine('delete from tenant.api_keys'), '42501'],
    ['suspend a tenant', () => inMine(`update tenant.tenants set status = 'suspended'`), '42501'],
    ['move the days of budgets', () => inMine(`update tenant.tenants set budget_timezone = 'UTC'`), '42501'],
    ['truncate', () => inMine('truncate tenant.api_keys'), '42501'],
    [
      'switch row-level security off',
      () => inMine('alter table tenant.api_keys disable row level security'),
      '42501',
    ],
  ])('cannot %s', async (_what, attempt, code) => {
    await expect(attempt()).rejects.toMatchObject({ code });
  });

  const inMine = (text: string, ...values: unknown[]) =>
    withTenant(app, mine.id, (db) => db.query(text, values));
  const insertKey = (tenantId: string | null, role: string) =>
    inMine(
      `insert into tenant.api_keys (id, tenant_id, key_id, secret_sha256, name, role, scopes, created_by)
       values ($1, $2, '0123456789abcdef', sha256(''), 'x', $3, '{}', 'x')`,
      newId(),
      tenantId,
      role,
    );
});

describe('a transaction of a tenant', () => {
  it('sees the logouts of the person who logs in, and of no other', async () => {
    const [person, other] = ['https://login.example.com', 'https://other.example.com'].map((iss) => ({
      ...{ iss, sub: newId(), sid: newId() },
    }));
    if (person === undefined || other === undefined) throw new Error('there is no person');
    const logouts = [
      [person.iss, person.sub, null],
      [person.iss, null, person.sid],
      [person.iss, newId(), null],
      [other.iss, person.sub, person.sid],
    ];
    for (const logout of logouts)
      await tenants.rows(
        `insert into tenant.issuer_logouts (id, iss, sub, sid, ended_at)
         values (gen_random_uuid(), $1, $2, $3, now())`,
        logout,
      );
    const seen = (db: Queryable) =>
      db.query<Record<'iss' | 'sub' | 'sid', string | null>>(
        'select iss, sub, sid from tenant.issuer_logouts order by sub',
      );
    await withTenant(app, mine.id, async (db) => {
      expect((await seen(db)).rows).toEqual([]);
      await holdLogouts(db, person);
      const { rows } = await seen(db);
      expect(rows.map(({ iss, sub, sid }) => [iss, sub, sid])).toEqual(logouts.slice(0, 2));
      await holdLogouts(db, { ...other, sid: null });
      expect((await seen(db)).rows).toEqual([]);
    });
    await withTenant(app, mine.id, async (db) => expect((await seen(db)).rows).toEqual([]));
  });
});

describe('the role tenant_system', () => {
  it('deletes no key but those of programs, and changes no rights of a key', async () => {
    const system = poolAs('tenant_system');
    try {
      for (const text of [
        'delete from tenant.tenants',
        `update tenant.api_keys set scopes = '{}'`,
        `update tenant.api_keys set confirmed_by = null`,
        `update tenant.api_keys set role = 'admin'`,
        'update tenant.tenants set id = gen_random_uuid()',
      ]) {
        await expect(system.query(text)).rejects.toMatchObject({ code: '42501' });
      }
      const { rowCount } = await system.query('delete from tenant.api_keys');
      expect(rowCount).toBe(0);
    } finally {
      await system.end();
    }
  });
});

describe('the login role', () => {
  it('may do nothing before it takes on one of the two', async () => {
    const bare = poolAs('tenant_login');
    try {
      await expect(bare.query('select id from tenant.tenants')).rejects.toMatchObject({ code: '42501' });
    } finally {
      await bare.end();
    }
  });
});

describe('the schema', () => {
  const audit = () => tablesWithoutPolicies(tenants.database.adminUrl, 'tenant');

  it('has no table without forced row-level security and a policy for every grant', async () => {
    expect(await audit()).toEqual([]);
  });

  it('is audited by something that finds holes', async () => {
    await tenants.rows(`
      create table tenant.open (id int);
      grant select on tenant.open to tenant_app;
      create table tenant.unforced (id int);
      alter table tenant.unforced enable row level security;
      create table tenant.half (id int, note text);
      alter table tenant.half enable row level security;
      alter table tenant.half force row level security;
      create policy half_select on tenant.half for select to tenant_app using (true);
      grant select on tenant.half to tenant_app, tenant_system;
      grant update (note) on tenant.half to tenant_app;
      grant truncate on tenant.half to tenant_system;
      create view tenant.peek as select id from tenant.half;
      create view tenant.honest with (security_invoker = true) as select id from tenant.half;`);
    try {
      expect(await audit()).toEqual([
        'tenant.open lacks ENABLE and FORCE ROW LEVEL SECURITY',
        'tenant.unforced lacks ENABLE and FORCE ROW LEVEL SECURITY',
        'tenant.half: SELECT is granted to tenant_system without a policy',
        'tenant.half: TRUNCATE is granted to tenant_system without a policy',
        'tenant.half: UPDATE is granted to tenant_app without a policy',
        'tenant.open: SELECT is granted to tenant_app without a policy',
        "tenant.peek shows rows with its owner's rights",
      ]);
    } finally {
      await tenants.rows(
        'drop view tenant.peek, tenant.honest; drop table tenant.open, tenant.unforced, tenant.half',
      );
    }
  });
});
