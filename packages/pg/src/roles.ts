import { Client, type ClientBase } from 'pg';
import { scramVerifier } from './scram-verifier.ts';

/** The database roles of a service. */
export interface Roles {
  /** `<service>_app` and `<service>_system`, the roles of sessions. */
  acting: readonly [string, string];
  /** The login role, a member of both. */
  login: string;
  password: string;
  /** `DATABASE_URL`, which contains login and password. */
  url: string;
}

export function rolesOf(service: string, url: string): Roles {
  const { username, password } = new URL(url);
  return {
    acting: [`${service}_app`, `${service}_system`],
    login: decodeURIComponent(username),
    password: decodeURIComponent(password),
    url,
  };
}

/**
 * Creates the two session roles, and the login role, a member of both without inherited rights. Roles belong to the
 * whole cluster, so the migration of another database may create them at the same moment.
 */
export async function makeRoles(owner: ClientBase, { acting, login, password }: Roles): Promise<void> {
  for (const role of acting) await makeRole(owner, role, 'nologin nobypassrls');
  const verifier = owner.escapeLiteral(await scramVerifier(password));
  await makeRole(owner, login, `login noinherit nobypassrls password ${verifier}`);
  const [app, system, member] = [...acting, login].map((role) => owner.escapeIdentifier(role));
  await unlessMadeMeanwhile(owner.query(`grant ${app}, ${system} to ${member}`));
}

/** Checks first, because PostgreSQL logs the full text of a failed statement. */
async function makeRole(owner: ClientBase, role: string, attributes: string): Promise<void> {
  const { rows } = await owner.query('select 1 from pg_roles where rolname = $1', [role]);
  if (rows.length > 0) return;
  await unlessMadeMeanwhile(owner.query(`create role ${owner.escapeIdentifier(role)} ${attributes}`));
}

const duplicateObject = '42710';
const uniqueViolation = '23505';
const concurrentUpdate = 'XX000';

async function unlessMadeMeanwhile(statement: Promise<unknown>): Promise<void> {
  try {
    await statement;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== duplicateObject && code !== uniqueViolation && code !== concurrentUpdate) throw error;
  }
}

/**
 * Logs in as the service will. If the password is wrong, because `DATABASE_URL` is new or has changed, sets the
 * password, unless the login may have another use: it has other rights, or another database uses its roles.
 */
export async function ensureLogin(owner: ClientBase, roles: Roles): Promise<void> {
  if (await letsIn(roles)) return;
  if (!(await isOwn(owner, roles))) throw passwordError(roles, 'it has other rights than the service needs');
  const others = await otherDatabases(owner, roles);
  if (others.length > 0) throw passwordError(roles, `${others.join(', ')} may be using it too`);
  const verifier = owner.escapeLiteral(await scramVerifier(roles.password));
  await owner
    .query(`alter role ${owner.escapeIdentifier(roles.login)} password ${verifier}`)
    .catch((error: unknown) => {
      throw passwordError(roles, (error as Error).message, error);
    });
  if (!(await letsIn(roles))) throw passwordError(roles, 'logging in still fails after setting it');
}

function passwordError({ login }: Roles, reason: string, cause?: unknown): Error {
  return new Error(
    `PostgreSQL rejects the password in DATABASE_URL for ${login}, and this step can't set it: ${reason}. ` +
      `Set it with "alter role ${login} password …", or use a separate user in DATABASE_URL`,
    { cause },
  );
}

const connectTimeoutMs = 5_000;
const invalidPassword = '28P01';

async function letsIn({ url, login }: Roles): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  try {
    await client.connect();
  } catch (error) {
    if ((error as { code?: string }).code === invalidPassword) return false;
    throw new Error(`${login} can't log in with DATABASE_URL`, { cause: error });
  }
  await client.end();
  return true;
}

/**
 * Whether a login has exactly the rights granted by `makeRoles`, so it is not an administrator or the login of another
 * service.
 */
async function isOwn(owner: ClientBase, { acting, login }: Roles): Promise<boolean> {
  const { rows } = await owner.query(
    `select 1 from pg_roles as login
     where login.rolname = $1
       and not (rolinherit or rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls)
       and not exists (
         select 1 from pg_auth_members join pg_roles as granted on granted.oid = pg_auth_members.roleid
         where pg_auth_members.member = login.oid and granted.rolname <> all($2)
       )`,
    [login, acting],
  );
  return rows.length > 0;
}

/**
 * Names of other databases in the cluster where the roles own or may use objects: `pg_shdepend` covers all databases.
 */
async function otherDatabases(owner: ClientBase, { acting, login }: Roles): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `select distinct pg_database.datname as name
     from pg_shdepend
     join pg_roles on pg_shdepend.refclassid = 'pg_authid'::regclass and pg_shdepend.refobjid = pg_roles.oid
     join pg_database on pg_shdepend.dbid = pg_database.oid
     where pg_roles.rolname = any($1) and pg_database.datname <> current_database()
     order by name`,
    [[...acting, login]],
  );
  return rows.map((row) => row.name);
}
