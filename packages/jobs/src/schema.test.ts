import { createRequire } from 'node:module';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { migrate } from '@gatehouse/pg/migrate';
import { createPool, withTenant, type Pool } from '@gatehouse/pg/pool';
import { PlainOwnerServer } from '@gatehouse/test/plain-owner';
import { query } from '@gatehouse/test/query';
import { tablesWithoutPolicies } from '@gatehouse/test/rls-audit';
import { newId } from '@gatehouse/kit/ids';
import { getRollbackPlans } from 'pg-boss';
import { tasks } from '../test/tasks.ts';
import { Jobs } from './jobs.ts';
import { assertJobsSchema, migrateJobs, thisRelease } from './schema.ts';

const service = 'probe';
const schema = 'probe_jobs';
const lines: { msg: string }[] = [];
const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as { msg: string }) });
const tenantId = newId();

let server: PlainOwnerServer;
let folder: string;
let app: Pool;
let system: Pool;

beforeAll(async () => {
  server = await PlainOwnerServer.start();
  await server.createDatabase('probe');
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-migrations-'));
  await writeFile(
    path.join(folder, '0001_tenant.sql'),
    `create function probe.current_tenant() returns uuid language sql stable
       as $$ select current_setting('gatehouse.tenant_id')::uuid $$;
     grant usage on schema probe to probe_app`,
  );
  const url = server.serviceUrl('probe', service);
  app = createPool({ url, role: 'probe_app', max: 1, log });
  system = createPool({ url, role: 'probe_system', max: 2, log });
});
afterAll(async () => {
  await app.end();
  await system.end();
  await server.stop();
  await rm(folder, { recursive: true });
});

/** The step as an owner that has no rights beyond its database. */
const step = () =>
  migrate({
    service,
    adminUrl: server.ownerUrl('probe'),
    serviceUrl: server.serviceUrl('probe', service),
    directory: folder,
    also: (owner) => migrateJobs(owner, service),
  });
const asAdmin = <Row extends object>(sql: string) => query<Row>(server.superuserUrl('probe'), sql);
const version = async () =>
  (await asAdmin<{ version: number }>(`select version from ${schema}.version`))[0]?.version;
const check = () => assertJobsSchema(system, service, log);

/** The tables, columns, indexes and functions of the schema. */
const shape = () =>
  asAdmin(
    `select relname as name, relkind::text as detail, null as definition from pg_class
     where relnamespace = '${schema}'::regnamespace and relkind in ('r', 'p')
     union all
     select relname, attname, format_type(atttypid, atttypmod) from pg_attribute join pg_class on pg_class.oid = attrelid
     where relnamespace = '${schema}'::regnamespace and relkind in ('r', 'p') and attnum > 0 and not attisdropped
     union all select tablename, indexname, indexdef from pg_indexes where schemaname = '${schema}'
     union all select proname, '', regexp_replace(prosrc, '\\s+', ' ', 'g') from pg_proc where pronamespace = '${schema}'::regnamespace
     order by 1, 2, 3`,
  );

/** Adds and takes a job, each with its role. */
async function useJobs(): Promise<void> {
  const jobs = new Jobs({ service, tasks, system, log });
  await jobs.createQueues();
  await withTenant(app, tenantId, (db) =>
    jobs.add(db, { task: 'embed', tenantId, ids: { documentId: 'a' } }),
  );
  const [job] = await jobs.boss.fetch('embed');
  expect(job?.data).toEqual({ documentId: 'a' });
  await jobs.boss.deleteJob('embed', job?.id ?? '');
}

describe('the migration step', () => {
  it('creates the schema of jobs, concurrently and repeatedly', async () => {
    await Promise.all([step(), step(), step()]);
    await check();
    await useJobs();
    expect(await tablesWithoutPolicies(server.superuserUrl('probe'), schema)).toEqual([]);
  });

  it('continues after a step that ended half-way', async () => {
    await asAdmin(`delete from ${schema}.releases; drop policy jobs_app_insert on ${schema}.job_common`);
    await expect(check()).rejects.toThrow('not migrated');
    await step();
    await useJobs();
  });

  it.each([45, 44, 43, 42])('migrates version %i of the library with its jobs', async (from) => {
    const wanted = await shape();
    const jobs = new Jobs({ service, tasks, system, log });
    const id = await withTenant(app, tenantId, (db) =>
      jobs.add(db, { task: 'embed', tenantId, ids: { documentId: 'old' } }),
    );
    for (let at = thisRelease.version; at > from; at -= 1) await asAdmin(getRollbackPlans(schema, at));
    expect(await version()).toBe(from);
    await expect(check()).rejects.toThrow('not migrated');
    await step();
    expect([await version(), await shape()]).toEqual([thisRelease.version, wanted]);
    expect(await tablesWithoutPolicies(server.superuserUrl('probe'), schema)).toEqual([]);
    const [kept] = await jobs.boss.fetch('embed');
    expect(kept).toMatchObject({ id, data: { documentId: 'old' } });
    await jobs.boss.deleteJob('embed', id ?? '');
    await useJobs();
  });
});

describe('a release', () => {
  it('works on the schema of a newer one that says so, and leaves it unchanged', async () => {
    const newer = thisRelease.version + 1;
    await asAdmin(
      `update ${schema}.version set version = ${newer};
       insert into ${schema}.releases values (${newer}, ${thisRelease.version})`,
    );
    await step();
    expect(await version()).toBe(newer);
    await check();
    expect(lines.map(({ msg }) => msg)).toContain('the schema of jobs is of a newer release');
    await useJobs();
    await asAdmin(`update ${schema}.releases set usable_from = ${newer} where library_version = ${newer}`);
    await expect(check()).rejects.toThrow('too new');
    await step();
    expect(await version()).toBe(newer);
  });

  it('has decided with which releases the schema of its library works', () => {
    const { pgboss } = createRequire(import.meta.url)('pg-boss/package.json') as {
      pgboss: { schema: number };
    };
    // If this fails, the library was upgraded: do what ADR 27 says, and adapt `thisRelease`.
    expect(thisRelease.version).toBe(pgboss.schema);
  });
});
