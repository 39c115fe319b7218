import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { freePort } from '@gatehouse/local/ports';
import { DatabaseProxy } from '@gatehouse/test/database-proxy';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import { firstMigration, folderOf, Probe, service } from '../test/probe.ts';
import { version } from '@gatehouse/kit/version';
import { assertMigrated } from './schema-check.ts';
import { FormerSchemaError } from './migration-record.ts';
import { migrateCommand } from './migrate-command.ts';
import { createPool, type Pool } from './pool.ts';
import { schemaCheck } from './schema-check.ts';

const log = createLogger('test', 'silent');

let probe: Probe;
let pool: Pool;
beforeAll(async () => {
  probe = await Probe.start();
  ({ pool } = probe);
});
afterAll(() => probe.stop());

describe('migrating', () => {
  it('runs each migration once, however many run at once or again', async () => {
    await probe.migrate();
    expect(await probe.asAdmin('select name from probe.migrations')).toEqual([{ name: '0001_notes' }]);
  });

  it('makes a login that inherits nothing and may become either role', async () => {
    const roles = await probe.asAdmin(
      `select rolname, rolcanlogin, rolinherit, rolbypassrls, rolsuper from pg_roles where rolname like 'probe%' order by 1`,
    );
    const harmless = { rolbypassrls: false, rolsuper: false };
    expect(roles).toEqual([
      { rolname: 'probe_app', rolcanlogin: false, rolinherit: true, ...harmless },
      { rolname: 'probe_login', rolcanlogin: true, rolinherit: false, ...harmless },
      { rolname: 'probe_system', rolcanlogin: false, rolinherit: true, ...harmless },
    ]);
    const client = new Client({ connectionString: probe.url });
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
    // Two at once: both succeed.
    for (const outcome of await Promise.allSettled([probe.migrate(broken), probe.migrate(broken)]))
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { message: expect.stringContaining('nonsense') },
      });
    expect(await probe.asAdmin(`select to_regclass('probe.half') as half`)).toEqual([{ half: null }]);
    expect(await assertMigrated(pool, service, probe.folder)).toEqual([]);
    await rm(broken, { recursive: true });
  });

  it('gives up while another session holds a table, and leaves nothing; run again it succeeds', async () => {
    const more = await folderOf({
      '0001_notes.sql': firstMigration,
      '0002_more.sql': 'create table probe.more (id int); alter table probe.notes add more int;',
    });
    const backup = await probe.connect();
    await backup.query('begin; lock table probe.notes in access share mode');
    const began = performance.now();
    await expect(probe.migrate(more)).rejects.toThrow(
      /^a migration of probe waited 3000 ms for a table lock .* it was rolled back/,
    );
    // Statements that queue behind it time out after 5 s.
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(await probe.asAdmin(`select to_regclass('probe.more') as more`)).toEqual([{ more: null }]);
    expect(await assertMigrated(pool, service, probe.folder)).toEqual([]);
    await backup.query('rollback');
    await backup.end();
    await probe.migrate(more);
    expect(await assertMigrated(pool, service, more)).toEqual([]);
    await probe.asAdmin(`alter table probe.notes drop more; drop table probe.more`);
    await probe.asAdmin(`delete from probe.migrations where name = '0002_more'`);
    await rm(more, { recursive: true });
  });

  it('runs what is repeatable in each step, in one transaction, and not on the schema of a newer release', async () => {
    const repeated = await folderOf({ '0001_notes.sql': firstMigration });
    const file = path.join(repeated, 'repeatable', 'again.sql');
    await mkdir(path.dirname(file));
    await writeFile(
      file,
      `create table if not exists probe.runs (n int); insert into probe.runs values (1);`,
    );
    await probe.migrate(repeated);
    await probe.migrate(repeated);
    await writeFile(file, 'insert into probe.runs values (2); select nonsense;');
    await expect(probe.migrate(repeated)).rejects.toThrow('nonsense');
    await writeFile(file, 'insert into probe.runs values (3);');
    await probe.asAdmin(`insert into probe.migrations (name, run_on) values ('0002_newer', now())`);
    await probe.migrate(repeated);
    expect(await probe.asAdmin('select n from probe.runs')).toEqual([{ n: 1 }, { n: 1 }]);
    await probe.asAdmin(`delete from probe.migrations where name = '0002_newer'`);
    await probe.asAdmin('drop table probe.runs');
    await rm(repeated, { recursive: true });
  });

  it('waits for a migration of another process, longer than its own lock time-out', async () => {
    const slow = await folderOf({
      '0001_notes.sql': firstMigration,
      '0002_slow.sql': 'select pg_sleep(4); create table probe.slow (id int);',
    });
    await Promise.all([probe.migrate(slow), probe.migrate(slow)]);
    expect(await assertMigrated(pool, service, slow)).toEqual([]);
    await probe.asAdmin('drop table probe.slow');
    await probe.asAdmin(`delete from probe.migrations where name = '0002_slow'`);
    await rm(slow, { recursive: true });
  });

  it.each(['1_notes.sql', '0002-more.sql', '0002_More.sql', 'more.sql'])(
    'refuses a file whose name lacks a number or a kind: %s',
    async (name) => {
      const misnamed = await folderOf({ '0001_notes.sql': firstMigration, [name]: 'select 1;' });
      await expect(probe.migrate(misnamed)).rejects.toThrow('NNNN_what_it_does.sql');
      await expect(assertMigrated(pool, service, misnamed)).rejects.toThrow('NNNN_what_it_does.sql');
      await rm(misnamed, { recursive: true });
    },
  );

  it('refuses a schema of a version before the first migration, and changes nothing', async () => {
    const baseline = await folderOf({
      '0001_baseline.sql': 'create table probe.baseline (id int);',
      '0002_more.sql': 'create table probe.more (id int);',
    });
    await probe.asAdmin(`insert into probe.notes values (gen_random_uuid(), gen_random_uuid(), 'kept')`);
    const state = async (): Promise<object[]> => [
      ...(await probe.asAdmin('select text from probe.notes')),
      ...(await probe.asAdmin('select name from probe.migrations')),
      ...(await probe.asAdmin(
        `select relname from pg_class where relnamespace = 'probe'::regnamespace order by 1`,
      )),
      ...(await probe.asAdmin(
        `select oid, rolpassword from pg_authid where rolname like 'probe%' order by 1`,
      )),
    ];
    const before = await state();
    for (const run of [() => probe.migrate(baseline), () => assertMigrated(pool, service, baseline)]) {
      const error = await run().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(FormerSchemaError);
      expect(error).toMatchObject({
        message:
          `the schema probe was made by a version before 0.3.0, which version ${version} can't upgrade; ` +
          'its data was left alone. Use a new database',
      });
    }
    expect(await state()).toEqual(before);
    await probe.asAdmin('delete from probe.notes');
    await rm(baseline, { recursive: true });
  });

  it('records the checksum and the version of each, and refuses one that was changed since', async () => {
    const changed = await folderOf({ '0001_notes.sql': `${firstMigration}\n-- One word more.` });
    const record = await probe.asAdmin('select name, checksum, version from probe.migrations');
    expect(record).toEqual([
      { name: '0001_notes', checksum: expect.stringMatching(/^[0-9a-f]{64}$/), version },
    ]);
    for (const run of [() => probe.migrate(changed), () => assertMigrated(pool, service, changed)])
      await expect(run()).rejects.toThrow(
        `the migration 0001_notes of probe was changed after version ${version} applied it: restore the file`,
      );
    // Line ends are no change.
    await writeFile(path.join(changed, '0001_notes.sql'), firstMigration.replaceAll('\n', '\r\n'));
    await probe.migrate(changed);
    expect(await probe.asAdmin('select name, checksum, version from probe.migrations')).toEqual(record);
    await rm(changed, { recursive: true });
  });

  it('completes the record of a step that was killed before its end', async () => {
    const [record] = await probe.asAdmin('select checksum, version from probe.migrations');
    await probe.asAdmin('update probe.migrations set checksum = null, version = null');
    expect(await assertMigrated(pool, service, probe.folder)).toEqual([]);
    await probe.migrate();
    expect(await probe.asAdmin('select checksum, version from probe.migrations')).toEqual([record]);
  });

  it('as a command wants both URLs', async () => {
    await expect(migrateCommand(service, probe.folder, {})).rejects.toThrow(
      /DATABASE_URL[^]*MIGRATION_DATABASE_URL/,
    );
    await migrateCommand(service, probe.folder, {
      DATABASE_URL: probe.url,
      MIGRATION_DATABASE_URL: probe.adminUrl,
    });
  });
});

describe('the check of the schema', () => {
  it('passes on exactly this release’s migrations', async () => {
    await assertMigrated(pool, service, probe.folder);
  });

  it('refuses a schema that is behind, or not there', async () => {
    const behind = await folderOf({
      '0001_notes.sql': firstMigration,
      '0002_more.sql': '',
      '0003_last.sql': '',
    });
    await expect(assertMigrated(pool, service, behind)).rejects.toThrow(
      'pending migrations in probe: 0002_more, 0003_last',
    );
    await expect(assertMigrated(pool, 'nobody', probe.folder)).rejects.toThrow(
      'run the migration step first',
    );
    await rm(behind, { recursive: true });
  });

  it('lives with what a newer release has added, says so once, and ends with what it has taken away', async () => {
    const newer = await folderOf({
      '0001_notes.sql': firstMigration,
      '0002_titles.sql': 'alter table probe.notes add title text;',
    });
    const newest = await folderOf({
      '0001_notes.sql': firstMigration,
      '0002_titles.sql': 'alter table probe.notes add title text;',
      '0003_contract_titles.sql': 'alter table probe.notes drop title;',
    });
    const warn = jest.spyOn(log, 'warn');
    const start = async (): Promise<void> =>
      schemaCheck({ pool, service, directory: probe.folder, log }).start();
    await probe.migrate(newer);
    await start();
    expect(warn.mock.calls.map(([fields]: unknown[]) => fields)).toEqual([{ newer: ['0002_titles'] }]);
    warn.mockRestore();
    // The migration step of an older release, as after a rollback, has nothing to do.
    await probe.migrate();
    expect(await assertMigrated(pool, service, newer)).toEqual([]);

    await probe.migrate(newest);
    await expect(start()).rejects.toThrow(
      `the schema probe is too new for version ${version}: 0003_contract_titles of version ${version}`,
    );
    await probe.asAdmin(`delete from probe.migrations where name <> '0001_notes'`);
    for (const made of [newer, newest]) await rm(made, { recursive: true });
  });

  it('waits while the database is away, and goes on when it is back', async () => {
    const proxy = new DatabaseProxy(probe.url);
    await proxy.open();
    await proxy.cut();
    const waiting = createPool({ url: proxy.url, role: 'probe_app', max: 1, log });
    let passed = false;
    const warned = jest.spyOn(log, 'warn');
    const check = schemaCheck({ pool: waiting, service, directory: probe.folder, log });
    const started = Promise.resolve(check.start()).then(() => (passed = true));
    await eventually(() =>
      expect(warned).toHaveBeenCalledWith(expect.anything(), 'waiting for the database'),
    );
    warned.mockRestore();
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
    const warned = jest.spyOn(log, 'warn');
    const check = schemaCheck({ pool: waiting, service, directory: probe.folder, log });
    const started = Promise.resolve(check.start());
    await eventually(() =>
      expect(warned).toHaveBeenCalledWith(expect.anything(), 'waiting for the database'),
    );
    warned.mockRestore();
    check.stop();
    await expect(started).rejects.toThrow('stopped');
    await waiting.end();
  });
});
