import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { freePort } from '@gatehouse/local/ports';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { DatabaseProxy } from '@gatehouse/test/database-proxy';
import fc from 'fast-check';
import { Client, DatabaseError } from 'pg';
import { isDatabaseOutage, isUniqueViolation, wrapDatabaseError } from './errors.ts';
import { assertMigrated, migrate } from './migrate.ts';
import { migrateCommand } from './migrate-command.ts';
import { answers, createPool, withTenant, withTransaction, type Pool } from './pool.ts';
import { schemaCheck } from './schema-check.ts';
import { toPgText } from './text.ts';

const log = createLogger('test', 'silent');

/** A service of our own in the database of another, so that its migrations can be what a test wants. */
const service = 'probe';
const firstMigration = `
  create function probe.current_tenant() returns uuid language plpgsql stable as $$
  begin
    if nullif(current_setting('gatehouse.tenant_id', true), '') is null then raise exception 'no tenant is set'; end if;
    return current_setting('gatehouse.tenant_id')::uuid;
  end $$;
  create table probe.notes (id uuid primary key, tenant_id uuid not null, text text not null);
  alter table probe.notes enable row level security;
  alter table probe.notes force row level security;
  create policy own on probe.notes to probe_app
    using (tenant_id = probe.current_tenant()) with check (tenant_id = probe.current_tenant());
  grant usage on schema probe to probe_app, probe_system;
  grant select on probe.migrations to probe_app, probe_system;
  grant select, insert on probe.notes to probe_app;`;

let database: TestDatabase;
let folder: string;
let url: string;
let pool: Pool;

async function folderOf(migrations: Record<string, string>): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), 'gatehouse-migrations-'));
  for (const [name, sql] of Object.entries(migrations)) await writeFile(path.join(made, name), sql);
  return made;
}

beforeAll(async () => {
  database = await createTestDatabase('tenant');
  folder = await folderOf({ '0001_notes.sql': firstMigration, 'README.md': 'no migration' });
  const own = new URL(database.url);
  own.username = 'probe_login';
  own.password = encodeURIComponent("p'ss w:rd");
  url = own.href;
  const options = { service, adminUrl: database.adminUrl, serviceUrl: url, directory: folder };
  // Several at once, as replicas' migration steps may be.
  await Promise.all([migrate(options), migrate(options), migrate(options)]);
  pool = createPool({ url, role: 'probe_app', max: 1, log });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
  await rm(folder, { recursive: true });
});

async function asAdmin<Row extends object>(sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: database.adminUrl });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'nothing',
    (error: unknown) => error,
  );

describe('migrating', () => {
  it('runs each migration once, however many run at once or again', async () => {
    await migrate({ service, adminUrl: database.adminUrl, serviceUrl: url, directory: folder });
    expect(await asAdmin('select name from probe.migrations')).toEqual([{ name: '0001_notes' }]);
  });

  it('makes a login that inherits nothing and may become either role', async () => {
    const roles = await asAdmin(
      `select rolname, rolcanlogin, rolinherit, rolbypassrls, rolsuper from pg_roles where rolname like 'probe%' order by 1`,
    );
    const harmless = { rolbypassrls: false, rolsuper: false };
    expect(roles).toEqual([
      { rolname: 'probe_app', rolcanlogin: false, rolinherit: true, ...harmless },
      { rolname: 'probe_login', rolcanlogin: true, rolinherit: false, ...harmless },
      { rolname: 'probe_system', rolcanlogin: false, rolinherit: true, ...harmless },
    ]);
    const client = new Client({ connectionString: url });
    await client.connect();
    await expect(client.query('select id from probe.notes')).rejects.toThrow('permission denied');
    await client.query('set role probe_app');
    await client.query('set role probe_system');
    await client.end();
  });

  it('undoes a migration that fails, and says which error it was', async () => {
    const broken = await folderOf({
      '0001_notes.sql': firstMigration,
      '0002_bad.sql': 'create table probe.half (id int); select nonsense;',
    });
    await expect(
      migrate({ service, adminUrl: database.adminUrl, serviceUrl: url, directory: broken }),
    ).rejects.toThrow('nonsense');
    expect(await asAdmin(`select to_regclass('probe.half') as half`)).toEqual([{ half: null }]);
    await assertMigrated(pool, service, folder);
    await rm(broken, { recursive: true });
  });

  it('as a command wants both URLs', async () => {
    await expect(migrateCommand(service, folder, {})).rejects.toThrow(
      /DATABASE_URL[^]*MIGRATION_DATABASE_URL/,
    );
    await migrateCommand(service, folder, { DATABASE_URL: url, MIGRATION_DATABASE_URL: database.adminUrl });
  });
});

describe('the check of the schema', () => {
  it('passes on exactly this release’s migrations', async () => {
    await assertMigrated(pool, service, folder);
  });

  it('refuses a schema that is behind, ahead, or not there', async () => {
    const [ahead, behind] = [
      await folderOf({}),
      await folderOf({ '0001_notes.sql': '', '0002_more.sql': '', '0003_last.sql': '' }),
    ];
    await expect(assertMigrated(pool, service, behind)).rejects.toThrow(
      'pending migrations in probe: 0002_more, 0003_last',
    );
    await expect(assertMigrated(pool, service, ahead)).rejects.toThrow('newer than this release: 0001_notes');
    await expect(assertMigrated(pool, 'nobody', folder)).rejects.toThrow('run the migration step first');
    for (const made of [ahead, behind]) await rm(made, { recursive: true });
  });

  it('waits while the database is away, and goes on when it is back', async () => {
    const proxy = new DatabaseProxy(url);
    await proxy.open();
    await proxy.cut();
    const waiting = createPool({ url: proxy.url, role: 'probe_app', max: 1, log });
    let passed = false;
    const check = schemaCheck({ pool: waiting, service, directory: folder, log });
    const started = Promise.resolve(check.start?.()).then(() => (passed = true));
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(passed).toBe(false);
    await proxy.open();
    await started;
    await waiting.end();
    await proxy.cut();
  });

  it('stops waiting when the service stops', async () => {
    const waiting = createPool({
      url: `postgres://a:b@127.0.0.1:${await freePort()}/c`,
      role: 'probe_app',
      max: 1,
      log,
    });
    const check = schemaCheck({ pool: waiting, service, directory: folder, log });
    const started = Promise.resolve(check.start?.());
    await new Promise((resolve) => setTimeout(resolve, 50));
    await check.stop?.();
    await expect(started).rejects.toThrow('stopped');
    await waiting.end();
  });
});

describe('working for a tenant', () => {
  const insert = (tenantId: string, text: string, as = tenantId): Promise<unknown> =>
    withTenant(pool, as, (client) =>
      client.query('insert into probe.notes (id, tenant_id, text) values ($1, $2, $3)', [
        newId(),
        tenantId,
        text,
      ]),
    );
  const texts = (tenantId: string): Promise<string[]> =>
    withTenant(pool, tenantId, async (client) =>
      (await client.query<{ text: string }>('select text from probe.notes order by text')).rows.map(
        ({ text }) => text,
      ),
    );

  let acme: string;
  let other: string;
  beforeEach(async () => {
    [acme, other] = [newId(), newId()];
    await insert(acme, 'a');
    await insert(other, 'b');
  });

  it('sees its rows and no others, over one and the same connection', async () => {
    expect([await texts(acme), await texts(other), await texts(newId())]).toEqual([['a'], ['b'], []]);
  });

  it('can not write for another tenant', async () => {
    await expect(insert(other, 'smuggled', acme)).rejects.toThrow('row-level security');
    expect(await texts(other)).toEqual(['b']);
  });

  it('is over with its transaction: what comes next on that connection has no tenant', async () => {
    await expect(pool.query('select id from probe.notes')).rejects.toThrow('no tenant is set');
    await expect(
      withTransaction(pool, (client) => client.query('select id from probe.notes')),
    ).rejects.toThrow('no tenant is set');
  });

  it('is undone when the work throws, and the connection is as good as before', async () => {
    const failing = withTenant(pool, acme, async (client) => {
      await client.query('insert into probe.notes (id, tenant_id, text) values ($1, $2, $3)', [
        newId(),
        acme,
        'undone',
      ]);
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect(await texts(acme)).toEqual(['a']);
  });

  it('takes nothing for a tenant that is no id', async () => {
    for (const id of ['', "x'; drop table probe.notes; --", `${acme}'`, ` ${acme}`, `${acme}\n`]) {
      await expect(withTenant(pool, id, () => Promise.resolve())).rejects.toThrow('not a tenant id');
    }
    await expect(
      withTenant(pool, '-'.repeat(36), (client) => client.query('select id from probe.notes')),
    ).rejects.toThrow('uuid');
    expect(await texts(acme)).toEqual(['a']);
  });

  it('knows a unique violation by its constraint', async () => {
    const id = newId();
    const twice = withTenant(pool, acme, async (client) => {
      for (const text of ['1', '2'])
        await client.query('insert into probe.notes (id, tenant_id, text) values ($1, $2, $3)', [
          id,
          acme,
          text,
        ]);
    });
    const error = await caught(twice);
    expect([
      isUniqueViolation(error, 'notes_pkey'),
      isUniqueViolation(error, 'other'),
      isUniqueViolation(new Error('x'), 'notes_pkey'),
    ]).toEqual([true, false, false]);
    expect(isDatabaseOutage(error)).toBe(false);
  });

  it('runs as its role with the time-outs of the house', async () => {
    const { rows } = await pool.query(
      `select current_user, current_setting('statement_timeout') as statement, current_setting('idle_in_transaction_session_timeout') as idle, current_setting('timezone') as zone`,
    );
    expect(rows).toEqual([{ current_user: 'probe_app', statement: '5s', idle: '1s', zone: 'UTC' }]);
    await pool.query('reset role');
    expect((await pool.query('select current_user')).rows).toEqual([{ current_user: 'probe_app' }]);
  });
});

describe('a database that is away', () => {
  it('is database_unavailable for statements and transactions, at once when it refuses', async () => {
    const refused = createPool({
      url: `postgres://a:b@127.0.0.1:${await freePort()}/c`,
      role: 'r',
      max: 1,
      log,
    });
    const began = performance.now();
    for (const work of [
      refused.query('select 1'),
      withTransaction(refused, () => Promise.resolve()),
      withTenant(refused, newId(), () => Promise.resolve()),
    ]) {
      const error = await caught(work);
      expect(error).toMatchObject({
        code: 'database_unavailable',
        status: 503,
        headers: { 'retry-after': '1' },
      });
      expect(isDatabaseOutage(error)).toBe(true);
      expect(isDatabaseOutage((error as AppError).cause)).toBe(true);
    }
    expect(await answers(refused)).toBe(false);
    expect(performance.now() - began).toBeLessThan(1_000);
    await refused.end();
  });

  it('in the middle of a transaction is told the same way, and the pool recovers', async () => {
    const proxy = new DatabaseProxy(url);
    await proxy.open();
    const cut = createPool({ url: proxy.url, role: 'probe_app', max: 1, log });
    expect(await answers(cut)).toBe(true);
    const work = withTransaction(cut, async (client) => {
      await proxy.cut();
      await client.query('select 1');
    });
    await expect(work).rejects.toMatchObject({ code: 'database_unavailable' });
    expect(await answers(cut)).toBe(false);
    await proxy.open();
    expect(await answers(cut)).toBe(true);
    await cut.end();
    await proxy.cut();
  });

  it.each([
    ['ECONNREFUSED', { code: 'ECONNREFUSED' }, true],
    ['a reset connection', { code: 'ECONNRESET' }, true],
    ['a terminated connection', new Error('Connection terminated unexpectedly'), true],
    ['a connect time-out', new Error('timeout exceeded when trying to connect'), true],
    ['a query time-out', new Error('Query read timeout'), true],
    ['a server that shuts down', state('57P01'), true],
    ['too many connections', state('53300'), true],
    ['a standby', state('25006'), true],
    ['a lost connection', state('08006'), true],
    ['a unique violation', state('23505'), false],
    ['a syntax error', state('42601'), false],
    ['a wrong password', state('28P01'), false],
    ['a missing privilege', state('42501'), false],
    ['a programming error', new TypeError('x is not a function'), false],
    ['nothing', undefined, false],
    ['our own outage', new AppError('database_unavailable', 'm'), true],
    ['another error of ours', new AppError('not_found', 'connection terminated'), false],
  ])('is told from what the database refuses: %s', (_name, error, expected) => {
    expect(isDatabaseOutage(error)).toBe(expected);
    const wrapped = ((): unknown => {
      try {
        return wrapDatabaseError(error);
      } catch (thrown) {
        return thrown;
      }
    })();
    if (expected) expect(wrapped).toMatchObject({ code: 'database_unavailable' });
    else expect(wrapped).toBe(error);
  });
});

function state(code: string): DatabaseError {
  return Object.assign(new DatabaseError('m', 1, 'error'), { code });
}

describe('text for the database', () => {
  it('is as it was but for what PostgreSQL can not hold', async () => {
    expect(toPgText('a\u0000b\ud800c\udc00 größe 🎉\u2028')).toBe('a\ufffdb\ufffdc\ufffd größe 🎉\u2028');
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\u0000')),
        (text) => {
          expect(toPgText(text)).toBe(text.toWellFormed());
        },
      ),
    );
    const samples = fc.sample(fc.string({ unit: 'binary', maxLength: 50 }), 200);
    for (const text of [...samples, '\ud83d', '\u0000', '']) {
      const kept = toPgText(text);
      expect(kept).toHaveLength(text.length);
      expect((await pool.query<{ text: string }>('select $1::text as text', [kept])).rows).toEqual([
        { text: kept },
      ]);
    }
  });
});
