import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { PageRequest } from '@gatehouse/kit/page';
import { Store } from '@gatehouse/pg/store';
import type { Queryable } from '@gatehouse/pg/pool';
import { maxLooked, maxUsers } from '../bounds.ts';
import type { Blocker, User, UserSource } from './user.ts';

export interface UserFilter extends PageRequest {
  /** Folded. */
  group: string | null;
  isBlocked: boolean | null;
  /** The beginning of a user id, an alias or a display name. */
  q: string | null;
}

/** Columns of a user under their names in `User`. */
export const userColumns = `
  u.id, u.user_id as "userId",
  array(select n.alias from tenant.user_names n where n.person_id = u.id and n.alias is not null
    order by n.folded) as aliases,
  u.display_name as "displayName", u.emails,
  array(select g.name from tenant.group_members m cross join lateral (
    select name, folded from tenant.groups where id = m.group_id limit 1) g
    where m.person_id = u.id order by g.folded) as groups,
  u.blocked_by as "blockedBy", u.source, u.external_id as "externalId", u.scim, u.created_at as "createdAt",
  u.updated_at as "updatedAt", u.last_seen_at as "lastSeenAt"`;

/**
 * The ids of the newest users below `before`, up to `most`: the members of a group, else those with a status, else all.
 */
function newestIds(
  db: Queryable,
  tenantId: string,
  { group, isBlocked, before, most }: Omit<UserFilter, 'q' | 'limit'> & { most: number },
): Promise<{ id: string }[]> {
  if (group !== null)
    return db.all(
      `select person_id as id from tenant.group_members
       where group_id = (select id from tenant.groups where tenant_id = $1 and folded = $2)
         and ($3::uuid is null or person_id < $3)
       order by person_id desc limit $4`,
      [tenantId, group, before, most],
    );
  if (isBlocked !== null)
    return db.all(
      `select id from tenant.users
       where tenant_id = $1 and user_id is not null and is_blocked = $2 and ($3::uuid is null or id < $3)
       order by id desc limit $4`,
      [tenantId, isBlocked, before, most],
    );
  return db.all(
    `select id from tenant.users where tenant_id = $1 and user_id is not null and ($2::uuid is null or id < $2)
     order by id desc limit $3`,
    [tenantId, before, most],
  );
}

/** Ends the range of names with a beginning. */
const lastChar = 'chr(1114111)';

/** The users with a name that begins with `$2`: the first `maxLooked` user ids and aliases, and as many display names. */
const namedIds = `
  (select person_id as id from tenant.user_names
   where tenant_id = $1 and folded >= lower($2) and folded < lower($2) || ${lastChar}
   order by folded limit ${maxLooked})
  union all
  (select id from tenant.users
   where tenant_id = $1 and display_folded >= lower($2) and display_folded < lower($2) || ${lastChar}
   order by display_folded limit ${maxLooked})`;

const isMember = (id: string, group: string): string => `exists (
  select from tenant.group_members m where m.person_id = ${id} and m.group_id = (
    select g.id from tenant.groups g where g.tenant_id = $1 and g.folded = ${group}))`;

/** The users among whom those of a group with another filter are looked for, newest first: `$2` is the group. */
const looked = {
  members: `
    select person_id as id from tenant.group_members
    where group_id = (select g.id from tenant.groups g where g.tenant_id = $1 and g.folded = $2)
      and ($3::uuid is null or person_id < $3)
    order by person_id desc limit ${maxLooked}`,
  // Few users are blocked.
  blocked: `
    select id from tenant.users
    where tenant_id = $1 and user_id is not null and is_blocked and $2::text is not null
      and ($3::uuid is null or id < $3)
    order by id desc limit ${maxLooked}`,
};

/** The users of one tenant at a time. `pool` acts as `tenant_app`. */
export class UserStore extends Store {
  /**
   * Newest first, one more than `limit` when there are more. With a group and another filter, `maxLooked` users are
   * read at most: then `lookedTo` is the id of the last one, where the next page continues; otherwise it is null. A
   * search finds the first `maxLooked` names, unless it has a group.
   */
  async list(tenantId: string, filter: UserFilter): Promise<{ rows: User[]; lookedTo: string | null }> {
    const { group, isBlocked, q, before, limit } = filter;
    const db = this.tenant(tenantId);
    if (q !== null && (group === null || (await hasFewNames(db, tenantId, q))))
      return { rows: await listNamed(db, tenantId, { ...filter, q }), lookedTo: null };
    if (group !== null && (q !== null || isBlocked !== null))
      return listLooked(db, tenantId, { ...filter, group });
    const ids = await newestIds(db, tenantId, { group, isBlocked, before, most: limit + 1 });
    const rows = await db.all<User>(
      `select ${userColumns} from tenant.users u where u.id = any($1::uuid[]) and u.user_id is not null
       order by u.id desc`,
      [ids.map(({ id }) => id)],
    );
    return { rows, lookedTo: null };
  }

  /** The user with one of these folded names or hashes; null without one. */
  async find(tenantId: string, names: readonly string[]): Promise<User | null> {
    return findUser(this.tenant(tenantId), tenantId, names);
  }
}

/** Statements on users. The connection acts as `tenant_app`. */

/** Whether all names with a beginning are among the first ones. */
async function hasFewNames(db: Queryable, tenantId: string, q: string): Promise<boolean> {
  const { count } = await db.one<{ count: number }>(
    `select count(*)::integer as count from (${namedIds}) as named`,
    [tenantId, q],
  );
  return count < maxLooked;
}

/** The newest users among the first ones with a beginning of their names. */
function listNamed(
  db: Queryable,
  tenantId: string,
  { group, isBlocked, q, before, limit }: UserFilter & { q: string },
): Promise<User[]> {
  return db.all<User>(
    `select ${userColumns} from tenant.users u
     where u.id = any(array(${namedIds}))
       and u.user_id is not null and ($3::uuid is null or u.id < $3)
       and ($4::boolean is null or u.is_blocked = $4)
       and ($6::text is null or ${isMember('u.id', '$6')})
     order by u.id desc limit $5`,
    [tenantId, q, before, isBlocked, limit + 1, group],
  );
}

/** Reads users one by one, in order, until the page is full. */
async function listLooked(
  db: Queryable,
  tenantId: string,
  { group, isBlocked, q, before, limit }: UserFilter & { group: string },
): Promise<{ rows: User[]; lookedTo: string | null }> {
  const source = isBlocked === true ? looked.blocked : looked.members;
  const isInGroup = isBlocked === true ? isMember('p.id', '$2') : 'true';
  const values = [tenantId, group, before];
  const rows = await db.all<User>(
    `select ${userColumns} from tenant.users u
     where u.id = any(array(
       select looked.id from (${source}) as looked
       -- Its limit has them read one after the other.
       cross join lateral (
         select from tenant.users p
         where p.id = looked.id and p.user_id is not null and ($4::boolean is null or p.is_blocked = $4)
           and ($5::text is null or p.display_folded ^@ lower($5) or exists (
             select from tenant.user_names n where n.person_id = p.id and n.folded ^@ lower($5)))
           and ${isInGroup}
         limit 1) as matching
       order by looked.id desc limit $6))
     order by u.id desc`,
    [...values, isBlocked, q, limit + 1],
  );
  if (rows.length > limit) return { rows, lookedTo: null };
  const last = await db.first<{ id: string }>(
    `select looked.id from (${source}) as looked order by looked.id desc offset ${maxLooked - 1}`,
    values,
  );
  return { rows, lookedTo: last?.id ?? null };
}

/** Makes other changes of the tenant's users wait until the transaction ends. */
export async function lockUsers(db: Queryable, tenantId: string): Promise<void> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`users ${tenantId}`]);
}

export async function findUser(
  db: Queryable,
  tenantId: string,
  names: readonly string[],
): Promise<User | null> {
  return db.first<User>(
    `select ${userColumns} from tenant.users u
     where u.id in (select person_id from tenant.user_names where tenant_id = $1 and folded = any($2::text[]))
     order by u.user_id is null limit 1`,
    [tenantId, names],
  );
}

/** An existing user, after changes. */
export async function readUser(db: Queryable, id: string): Promise<User> {
  return db.one<User>(`select ${userColumns} from tenant.users u where u.id = $1`, [id]);
}

/** Adds a user without names and groups. Throws `limit_reached`. */
export async function insertUser(
  db: Queryable,
  { tenantId, userId, source }: { tenantId: string; userId: string; source: UserSource },
): Promise<string> {
  const { users } = await db.one<{ users: number }>(
    `insert into tenant.user_directories as d (tenant_id, users) values ($1, 1)
     on conflict (tenant_id) do update set users = d.users + 1 returning users`,
    [tenantId],
  );
  if (users > maxUsers)
    throw new AppError('limit_reached', `A tenant has at most ${maxUsers} users. Delete some.`);
  const id = newId();
  await db.query('insert into tenant.users (id, tenant_id, user_id, source) values ($1, $2, $3, $4)', [
    ...[id, tenantId, userId, source],
  ]);
  return id;
}

/** The changed members of a user's row. */
export interface UserRow {
  userId: string;
  displayName: string | null;
  emails: readonly string[];
  blockedBy: readonly Blocker[];
}

/** Stores a changed user. The time of the change invalidates what doors keep of its names. */
export async function updateUser(
  db: Queryable,
  id: string,
  { userId, displayName, emails, blockedBy }: UserRow,
): Promise<void> {
  await db.query(
    `update tenant.users set user_id = $2, display_name = $3, emails = $4, blocked_by = $5, updated_at = now()
     where id = $1`,
    [id, userId, displayName, emails, blockedBy],
  );
}

/** The names of other users among these. */
export async function namesOfOthers(
  db: Queryable,
  { tenantId, id, names }: { tenantId: string; id: string; names: readonly string[] },
): Promise<string[]> {
  const rows = await db.all<{ folded: string }>(
    `select folded from tenant.user_names where tenant_id = $1 and folded = any($2::text[]) and person_id <> $3`,
    [tenantId, names, id],
  );
  return rows.map(({ folded }) => folded);
}

/** The folded names of a user, with hashes. */
export async function foldedNamesOf(db: Queryable, id: string): Promise<string[]> {
  const rows = await db.all<{ folded: string }>('select folded from tenant.user_names where person_id = $1', [
    id,
  ]);
  return rows.map(({ folded }) => folded);
}

/** A name of a user. */
export interface NewName {
  folded: string;
  /** As it was sent; null for the user id, and for a hash. */
  alias: string | null;
}

export async function insertNames(
  db: Queryable,
  { tenantId, id, names }: { tenantId: string; id: string; names: readonly NewName[] },
): Promise<void> {
  if (names.length === 0) return;
  await db.query(
    `insert into tenant.user_names (tenant_id, folded, person_id, alias)
     select $1, name.folded, $2, name.alias from unnest($3::text[], $4::text[]) as name (folded, alias)`,
    [tenantId, id, names.map(({ folded }) => folded), names.map(({ alias }) => alias)],
  );
}

export async function deleteNames(db: Queryable, id: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await db.query('delete from tenant.user_names where person_id = $1 and folded = any($2::text[])', [
    id,
    names,
  ]);
}

/** Leaves of a user the block alone. Its names and groups are gone by then. */
export async function clearUser(db: Queryable, id: string): Promise<void> {
  await db.query(
    `update tenant.users set user_id = null, display_name = null, emails = '{}', external_id = null,
       scim = null, last_seen_at = null, updated_at = now()
     where id = $1`,
    [id],
  );
}

/** Deletes a user without names and groups. */
export async function deleteUser(db: Queryable, tenantId: string, id: string): Promise<void> {
  await db.query('delete from tenant.users where id = $1', [id]);
  await db.query('update tenant.user_directories set users = users - 1 where tenant_id = $1', [tenantId]);
}

/** Ends the open sessions of a user, by its folded names. */
export async function endSessionsOf(
  db: Queryable,
  tenantId: string,
  names: readonly string[],
): Promise<void> {
  await db.query(
    `update tenant.sessions set ends_at = now() where id = any(array(
       select id from tenant.sessions
       where tenant_id = $1 and lower(user_id) = any($2::text[]) and ends_at > now()
       order by id for no key update))`,
    [tenantId, names],
  );
}

/** The ids of a user's keys, by the folded names, without revoked ones. */
export async function keysOf(db: Queryable, tenantId: string, names: readonly string[]): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `select id from tenant.api_keys
     where tenant_id = $1 and lower(user_id) = any($2::text[]) and revoked_at is null order by id`,
    [tenantId, names],
  );
  return rows.map(({ id }) => id);
}
