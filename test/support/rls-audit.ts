import { Client } from 'pg';

/** The table of node-pg-migrate: readable by every role, writable by none, without data of tenants. */
const migrationsTable = 'migrations';

/**
 * Finds gaps in the row-level security of a schema and describes each in a sentence; returns an empty list if there are
 * none. Every table must have ROW LEVEL SECURITY enabled and forced, and a policy for every command that is granted to
 * a role; views must run with the rights of their caller; roles of the service must not bypass it.
 */
export async function tablesWithoutPolicies(adminUrl: string, schema: string): Promise<string[]> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const problems: string[] = [];
    for (const statement of [unforced, unguarded, definerViews, exemptRoles]) {
      const { rows } = await client.query<{ problem: string }>(statement, [schema]);
      problems.push(...rows.map((row) => row.problem));
    }
    return problems;
  } finally {
    await client.end();
  }
}

const tables = `
  select oid, relname, relrowsecurity, relforcerowsecurity, relowner, relacl from pg_class
  where relnamespace = $1::text::regnamespace and relkind in ('r', 'p') and relname <> '${migrationsTable}'`;

const unforced = `
  with tables as (${tables})
  select format('%I.%I lacks ENABLE and FORCE ROW LEVEL SECURITY', $1::text, relname) as problem
  from tables where not (relrowsecurity and relforcerowsecurity)
  order by problem`;

/** Policies do not apply to TRUNCATE, so any grant of it is a gap. A policy for all commands has polcmd '*'. */
const unguarded = `
  with tables as (${tables}),
  grants as (
    select tables.oid, relname, grantee, privilege_type from tables, aclexplode(relacl) where grantee <> relowner
    union
    select tables.oid, relname, grantee, privilege_type
    from tables join pg_attribute on attrelid = tables.oid, aclexplode(attacl) where grantee <> relowner
  )
  select format('%I.%I: %s is granted to %s without a policy', $1::text, relname, privilege_type,
                case when grantee = 0 then 'public' else grantee::regrole::text end) as problem
  from grants
  where privilege_type = 'TRUNCATE' or (
    privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
    and not exists (
      select from pg_policy
      where polrelid = grants.oid and polpermissive and (polroles @> array[0::oid] or polroles @> array[grantee])
        and polcmd::text = any (array['*',
          case privilege_type when 'SELECT' then 'r' when 'INSERT' then 'a' when 'UPDATE' then 'w' else 'd' end])
    )
  )
  order by problem`;

const definerViews = `
  select format('%I.%I shows rows with its owner''s rights', $1::text, relname) as problem from pg_class
  where relnamespace = $1::text::regnamespace
    and (relkind = 'm' or relkind = 'v' and not coalesce(reloptions @> array['security_invoker=true'], false))
  order by problem`;

const exemptRoles = `
  select format('the role %I is exempt from row-level security', rolname) as problem from pg_roles
  where rolname in ($1::text || '_app', $1::text || '_system') and (rolsuper or rolbypassrls)
  order by problem`;
