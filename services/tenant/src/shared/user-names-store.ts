import type { Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';

/** Statements on the names of users. The connection reaches the rows of the tenant. */

/** Finds the user ids of names, in any case. Returns a look-up: a name outside the directory is its own id. */
export async function lookUpUserIds(
  db: Queryable,
  tenantId: string,
  names: readonly string[],
): Promise<(name: string) => string> {
  if (names.length === 0) return (name) => name;
  const rows = await db.all<{ folded: string; userId: string }>(
    `select n.folded, u.user_id as "userId"
     from tenant.user_names n cross join lateral (
       select user_id from tenant.users where id = n.person_id and user_id is not null limit 1) u
     where n.tenant_id = $1 and n.folded = any ($2::text[])`,
    [tenantId, [...new Set(names.map((name) => name.toLowerCase()))]],
  );
  const ids = new Map(rows.map(({ folded, userId }) => [folded, userId]));
  return (name) => ids.get(name.toLowerCase()) ?? name;
}

/** The folded names of the user with a name, in any case; empty outside the directory. */
export async function namesOfUser(db: Queryable, tenantId: string, name: string): Promise<string[]> {
  const rows = await db.all<{ folded: string }>(
    `select folded from tenant.user_names where person_id = (
       select person_id from tenant.user_names where tenant_id = $1 and folded = $2)`,
    [tenantId, name.toLowerCase()],
  );
  return rows.map(({ folded }) => folded);
}

/** The names of users, one tenant at a time. `pool` acts as `tenant_app`. */
export class UserNameStore extends Store {
  /** The user id of a name, in any case; the name itself outside the directory. */
  async idOf(tenantId: string, name: string): Promise<string> {
    return (await lookUpUserIds(this.tenant(tenantId), tenantId, [name]))(name);
  }
}
