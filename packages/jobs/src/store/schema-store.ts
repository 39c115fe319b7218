import type { BareClient } from '@gatehouse/pg/pool';

/** The state of a schema of jobs. */
export interface SchemaVersions {
  /** The version the library gave its schema. */
  version: number;
  /** The oldest version with releases able to use the schema; 0 while the migration step is unfinished. */
  usableFrom: number;
}

const undefinedTable = '42P01';
const undefinedSchema = '3F000';

/** The schema of a service's jobs, beside its own. */
export function jobsSchema(service: string): string {
  return `${service}_jobs`;
}

/** Returns undefined if the schema does not exist. */
export async function readVersions(db: BareClient, schema: string): Promise<SchemaVersions | undefined> {
  try {
    const { rows } = await db.query<SchemaVersions>(
      `select version, coalesce((select max(usable_from) from ${schema}.releases where library_version = version), 0)
         as "usableFrom"
       from ${schema}.version`,
    );
    return rows[0];
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === undefinedTable || code === undefinedSchema) return undefined;
    throw error;
  }
}

/** Creates the schema, and its table of the releases able to use it. The library adds its own tables. */
export async function createSchema(owner: BareClient, schema: string): Promise<void> {
  await owner.query(`create schema if not exists ${schema}`);
  await owner.query(
    `create table if not exists ${schema}.releases (
       library_version integer constraint releases_pkey primary key,
       usable_from integer not null
     )`,
  );
}

export async function recordRelease(
  owner: BareClient,
  schema: string,
  { version, usableFrom }: SchemaVersions,
): Promise<void> {
  await owner.query(
    `insert into ${schema}.releases (library_version, usable_from) values ($1, $2)
     on conflict (library_version) do update set usable_from = excluded.usable_from`,
    [version, usableFrom],
  );
}

/** The library's table of jobs, and the partitioned table above it. */
export const jobTable = 'job_common';

/**
 * Lets `<service>_system` do everything with jobs, and `<service>_app` add, see and cancel the jobs of its tenant: the
 * group of a job is its tenant. All tables get row-level security, including tables added by a migration of the
 * library. It applies to the owner too, with a policy for the library's migrations to see all rows.
 */
export async function grantAccess(owner: BareClient, schema: string, service: string): Promise<void> {
  const [app, system] = [`${service}_app`, `${service}_system`];
  const tenantGroup = `group_id = ${service}.current_tenant()::text`;
  const tables = await tablesOf(owner, schema);
  await owner.query('begin');
  for (const table of tables) {
    const target = `${schema}.${table}`;
    await owner.query(
      `alter table ${target} enable row level security;
       alter table ${target} force row level security;
       drop policy if exists jobs_owner on ${target};
       create policy jobs_owner on ${target} to current_user using (true) with check (true);
       drop policy if exists jobs_system on ${target};
       create policy jobs_system on ${target} to ${system} using (true) with check (true);
       grant select, insert, update, delete on ${target} to ${system}`,
    );
  }
  const jobs = `${schema}.${jobTable}`;
  await owner.query(
    `grant usage on schema ${schema} to ${app}, ${system};
     grant select on ${schema}.queue to ${app};
     drop policy if exists jobs_app_select on ${schema}.queue;
     create policy jobs_app_select on ${schema}.queue for select to ${app} using (true);
     grant select, insert, delete on ${jobs} to ${app};
     drop policy if exists jobs_app_select on ${jobs};
     create policy jobs_app_select on ${jobs} for select to ${app} using (${tenantGroup});
     drop policy if exists jobs_app_insert on ${jobs};
     create policy jobs_app_insert on ${jobs} for insert to ${app} with check (${tenantGroup});
     drop policy if exists jobs_app_delete on ${jobs};
     create policy jobs_app_delete on ${jobs} for delete to ${app} using (${tenantGroup})`,
  );
  await owner.query('commit');
}

/**
 * Extends the library's table for our own statements: an index to find each tenant's next job without reading
 * the others, and the right of `<service>_app` to make a waiting job run earlier. Safe to repeat.
 */
export async function addTurns(owner: BareClient, schema: string, service: string): Promise<void> {
  const jobs = `${schema}.${jobTable}`;
  const tenantGroup = `group_id = ${service}.current_tenant()::text`;
  const { rows } = await owner.query(
    `select from pg_policies where schemaname = $1 and tablename = $2 and policyname = 'jobs_app_update'`,
    [schema, jobTable],
  );
  if (rows.length > 0) return;
  await owner.query(
    `begin;
     create index if not exists job_turns_idx on ${jobs} (name, group_id, (-priority), start_after)
       where state < 'active' and not blocked;
     grant update (start_after) on ${jobs} to ${service}_app;
     create policy jobs_app_update on ${jobs} for update to ${service}_app using (${tenantGroup}) with check (${tenantGroup});
     commit`,
  );
}

async function tablesOf(owner: BareClient, schema: string): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `select quote_ident(relname) as name from pg_class
     where relnamespace = $1::text::regnamespace and relkind in ('r', 'p') order by relname`,
    [schema],
  );
  return rows.map(({ name }) => name);
}
