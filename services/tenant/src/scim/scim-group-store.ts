import { foldedGroup } from '@gatehouse/kit/folded-group';
import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import { maxGroupsOfUser } from '../bounds.ts';
import { countGroups } from '../users/group-store.ts';
import type { ScimGroup } from './scim-group.ts';
import type { ScimReference } from './scim-view.ts';

/** Statements on groups for SCIM. The connection acts as `tenant_app`. */

const columns = `g.id, g.name, g.external_id as "externalId", g.members, g.created_at as "createdAt",
  g.updated_at as "updatedAt", g.is_scim as "isScim"`;

/** A group, known to SCIM or not. */
export interface StoredGroup extends ScimGroup {
  isScim: boolean;
}

export async function groupById(db: Queryable, tenantId: string, id: string): Promise<StoredGroup | null> {
  return db.first<StoredGroup>(
    `select ${columns} from tenant.groups g where g.tenant_id = $1 and g.id = $2 and g.is_scim`,
    [tenantId, id],
  );
}

/** The group with a name, whether or not SCIM knows it. */
export async function groupByName(
  db: Queryable,
  tenantId: string,
  name: string,
): Promise<StoredGroup | null> {
  return db.first<StoredGroup>(
    `select ${columns} from tenant.groups g where g.tenant_id = $1 and g.folded = $2`,
    [tenantId, foldedGroup(name)],
  );
}

/** Likewise the group with an external id. */
export async function groupByExternalId(
  db: Queryable,
  tenantId: string,
  externalId: string,
): Promise<StoredGroup | null> {
  return db.first<StoredGroup>(
    `select ${columns} from tenant.groups g where g.tenant_id = $1 and g.external_id = $2`,
    [tenantId, externalId],
  );
}

/** The groups of a user from SCIM. */
export async function groupsWithMember(db: Queryable, id: string): Promise<StoredGroup[]> {
  return db.all<StoredGroup>(
    `select g.* from tenant.group_members m cross join lateral (
       select ${columns} from tenant.groups g where g.id = m.group_id and g.is_scim limit 1) g
     where m.person_id = $1 and 'scim' = any(m.sources) order by g.id`,
    [id],
  );
}

/** A page in the order of creation. */
export async function scimGroups(
  db: Queryable,
  { tenantId, offset, limit }: { tenantId: string; offset: number; limit: number },
): Promise<StoredGroup[]> {
  return db.all<StoredGroup>(
    `select ${columns} from tenant.groups g where g.tenant_id = $1 and g.is_scim order by g.id offset $2 limit $3`,
    [tenantId, offset, limit],
  );
}

export async function countScimGroups(db: Queryable, tenantId: string): Promise<number> {
  const { count } = await db.one<{ count: number }>(
    'select count(*)::integer as count from tenant.groups where tenant_id = $1 and is_scim',
    [tenantId],
  );
  return count;
}

/** The members from SCIM of groups, up to `limit` of each, by the groups' ids. */
export async function scimMembersOf(
  db: Queryable,
  groupIds: readonly string[],
  limit: number,
): Promise<Map<string, ScimReference[]>> {
  const rows = await db.all<ScimReference & { groupId: string }>(
    `select g.id as "groupId", m.person_id as value, u.display
     from unnest($1::uuid[]) as g (id)
     cross join lateral (
       select person_id from tenant.group_members
       where group_id = g.id and 'scim' = any(sources) order by person_id limit $2) m
     cross join lateral (
       select coalesce(display_name, user_id, '') as display from tenant.users where id = m.person_id limit 1) u`,
    [groupIds, limit],
  );
  return Map.groupBy(rows, ({ groupId }) => groupId);
}

/** Adds a group. Throws `limit_reached`. */
export async function insertGroup(db: Queryable, tenantId: string, name: string): Promise<string> {
  const id = newId();
  await db.query('insert into tenant.user_directories (tenant_id) values ($1) on conflict do nothing', [
    tenantId,
  ]);
  await countGroups(db, tenantId, 1);
  await db.query('insert into tenant.groups (id, tenant_id, name, folded) values ($1, $2, $3, $4)', [
    ...[id, tenantId, name, foldedGroup(name)],
  ]);
  return id;
}

/** Renames a group. Doors forget it and its members. */
export async function renameGroup(db: Queryable, id: string, name: string): Promise<void> {
  await db.query('update tenant.groups set name = $2, folded = $3 where id = $1', [
    id,
    name,
    foldedGroup(name),
  ]);
}

/** Stores what SCIM alone has of a group. */
export async function setScimGroup(
  db: Queryable,
  id: string,
  { externalId, isScim }: { externalId: string | null; isScim: boolean },
): Promise<void> {
  await db.query(
    'update tenant.groups set external_id = $2, is_scim = $3, updated_at = now() where id = $1',
    [id, externalId, isScim],
  );
}

/** The ids of users known to SCIM among these. */
export async function knownMembers(
  db: Queryable,
  tenantId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await db.all<{ id: string }>(
    'select id from tenant.users where tenant_id = $1 and id = any($2::uuid[]) and scim is not null',
    [tenantId, ids],
  );
  return new Set(rows.map(({ id }) => id));
}

/** The ids of a group's members from SCIM. */
export async function memberIds(db: Queryable, groupId: string): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `select person_id as id from tenant.group_members where group_id = $1 and 'scim' = any(sources)`,
    [groupId],
  );
  return rows.map(({ id }) => id);
}

/** Ends memberships from SCIM; those from other sides stay. */
export async function removeMembers(db: Queryable, groupId: string, ids: readonly string[]): Promise<void> {
  await db.query(
    `delete from tenant.group_members where group_id = $1 and person_id = any($2::uuid[]) and sources = array['scim']`,
    [groupId, ids],
  );
  await db.query(
    `update tenant.group_members set sources = array_remove(sources, 'scim')
     where group_id = $1 and person_id = any($2::uuid[]) and 'scim' = any(sources)`,
    [groupId, ids],
  );
}

/** Adds users known to SCIM. */
export async function addMembers(
  db: Queryable,
  { tenantId, groupId, ids }: { tenantId: string; groupId: string; ids: readonly string[] },
): Promise<void> {
  await db.query(
    `insert into tenant.group_members as m (group_id, person_id, tenant_id, sources)
     select $1, id, $2, array['scim'] from unnest($3::uuid[]) as id order by id
     on conflict (group_id, person_id) do update set sources = array_append(m.sources, 'scim')
       where not 'scim' = any(m.sources)`,
    [groupId, tenantId, ids],
  );
}

/** Whether one of these users has more groups than a user may have. */
export async function hasTooManyGroups(db: Queryable, ids: readonly string[]): Promise<boolean> {
  const row = await db.first<{ id: string }>(
    `select person_id as id from tenant.group_members where person_id = any($1::uuid[])
     group by person_id having count(*) > $2 limit 1`,
    [ids, maxGroupsOfUser],
  );
  return row !== null;
}

/** Makes doors forget users after a change of their groups. */
export async function touchMembers(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query('update tenant.users set updated_at = now() where id = any($1::uuid[])', [ids]);
}
