import type { Queryable } from '@gatehouse/pg/pool';
import type { ScimAttributes, User } from '../users/user.ts';
import { userColumns } from '../users/user-store.ts';
import type { ScimReference } from './scim-view.ts';

/** Statements on users known to SCIM. The connection acts as `tenant_app`. */

export async function scimUserById(db: Queryable, tenantId: string, id: string): Promise<User | null> {
  return db.first<User>(
    `select ${userColumns} from tenant.users u where u.tenant_id = $1 and u.id = $2 and u.scim is not null`,
    [tenantId, id],
  );
}

/** The user with a folded name. */
export async function scimUsersByName(db: Queryable, tenantId: string, folded: string): Promise<User[]> {
  return db.all<User>(
    `select ${userColumns} from tenant.users u
     where u.id in (select person_id from tenant.user_names where tenant_id = $1 and folded = $2)
       and u.scim is not null`,
    [tenantId, folded],
  );
}

/** The users with a folded address, up to `limit`. */
export async function scimUsersByEmail(
  db: Queryable,
  { tenantId, folded, limit }: { tenantId: string; folded: string; limit: number },
): Promise<User[]> {
  return db.all<User>(
    `select ${userColumns} from tenant.users u where u.tenant_id = $1 and u.scim_email = $2 order by u.id limit $3`,
    [tenantId, folded, limit],
  );
}

/** The users with a display name, up to `limit`. */
export async function scimUsersByDisplayName(
  db: Queryable,
  { tenantId, name, limit }: { tenantId: string; name: string; limit: number },
): Promise<User[]> {
  return db.all<User>(
    `select ${userColumns} from tenant.users u
     where u.tenant_id = $1 and u.display_folded = lower($2) and u.scim is not null order by u.id limit $3`,
    [tenantId, name, limit],
  );
}

/** A page in the order of creation. */
export async function scimUsers(
  db: Queryable,
  { tenantId, offset, limit }: { tenantId: string; offset: number; limit: number },
): Promise<User[]> {
  const rows = await db.all<{ id: string }>(
    'select id from tenant.users where tenant_id = $1 and scim is not null order by id offset $2 limit $3',
    [tenantId, offset, limit],
  );
  return db.all<User>(
    `select ${userColumns} from tenant.users u where u.id = any($1::uuid[]) order by u.id`,
    [rows.map(({ id }) => id)],
  );
}

export async function countScimUsers(db: Queryable, tenantId: string): Promise<number> {
  const row = await db.first<{ users: number }>(
    'select scim_users as users from tenant.user_directories where tenant_id = $1',
    [tenantId],
  );
  return row?.users ?? 0;
}

/** The groups from SCIM of users, by the users' ids. */
export async function scimGroupsOf(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, ScimReference[]>> {
  const rows = await db.all<ScimReference & { userId: string }>(
    `select person.id as "userId", g.id as value, g.name as display
     from unnest($1::uuid[]) as person (id)
     cross join lateral (
       select group_id from tenant.group_members where person_id = person.id and 'scim' = any(sources)) m
     cross join lateral (
       select id, name from tenant.groups where id = m.group_id and is_scim limit 1) g`,
    [ids],
  );
  return Map.groupBy(rows, ({ userId }) => userId);
}

/** Stores what SCIM alone has of a user. */
export async function setScim(
  db: Queryable,
  id: string,
  { externalId, scim }: { externalId: string | null; scim: ScimAttributes },
): Promise<void> {
  await db.query('update tenant.users set external_id = $2, scim = $3, updated_at = now() where id = $1', [
    id,
    externalId,
    scim,
  ]);
}

/** The attribute with the user id of new users. */
export async function scimUserIdOf(db: Queryable, tenantId: string): Promise<string> {
  const { attribute } = await db.one<{ attribute: string }>(
    'select scim_user_id as attribute from tenant.tenants where id = $1',
    [tenantId],
  );
  return attribute;
}
