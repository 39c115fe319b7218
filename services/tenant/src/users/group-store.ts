import { foldedGroup } from '@gatehouse/kit/folded-group';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { PageRequest } from '@gatehouse/kit/page';
import type { Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { maxGroupsOfUser, maxTenantGroups } from '../bounds.ts';
import type { DirectoryGroup, UserSource } from './user.ts';

/** The groups of one tenant at a time. `pool` acts as `tenant_app`. */
export class GroupStore extends Store {
  /** Newest first, one more than `limit` when there are more. */
  async list(tenantId: string, page: PageRequest): Promise<DirectoryGroup[]> {
    return this.tenant(tenantId).all<DirectoryGroup>(
      `select id, name, external_id as "externalId", members from tenant.groups
       where tenant_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3`,
      [tenantId, page.before, page.limit + 1],
    );
  }
}

/** Statements on groups, under the lock of `lockUsers`. The connection acts as `tenant_app`. */

/** The ids of groups by name; missing ones are made. Throws `limit_reached`. */
export async function groupIds(
  db: Queryable,
  tenantId: string,
  names: readonly string[],
): Promise<Set<string>> {
  const byFolded = new Map(names.map((name) => [foldedGroup(name), name]));
  if (byFolded.size === 0) return new Set();
  const made = await db.all<{ id: string }>(
    `insert into tenant.groups (id, tenant_id, name, folded)
     select g.id, $1, g.name, g.folded from unnest($2::uuid[], $3::text[], $4::text[]) as g (id, name, folded)
     on conflict (tenant_id, folded) do nothing returning id`,
    [tenantId, [...byFolded].map(() => newId()), [...byFolded.values()], [...byFolded.keys()]],
  );
  if (made.length > 0) await countGroups(db, tenantId, made.length);
  const rows = await db.all<{ id: string }>(
    'select id from tenant.groups where tenant_id = $1 and folded = any($2::text[])',
    [tenantId, [...byFolded.keys()]],
  );
  return new Set(rows.map(({ id }) => id));
}

/** The id of the group with a name, in any case; null without one. */
export async function findGroupId(db: Queryable, tenantId: string, name: string): Promise<string | null> {
  const group = await db.first<{ id: string }>(
    'select id from tenant.groups where tenant_id = $1 and folded = $2',
    [tenantId, foldedGroup(name)],
  );
  return group?.id ?? null;
}

/** Counts new groups of a tenant, which its policies and guardrails may name already. Throws `limit_reached`. */
export async function countGroups(db: Queryable, tenantId: string, added: number): Promise<void> {
  const { groups } = await db.one<{ groups: number }>(
    'update tenant.user_directories set groups = groups + $2 where tenant_id = $1 returning groups',
    [tenantId, added],
  );
  if (groups > maxTenantGroups)
    throw new AppError('limit_reached', `A tenant has at most ${maxTenantGroups} groups.`);
  // Chat has their selections with the ids of groups existing then.
  await db.query(
    `insert into tenant.changes (tenant_id)
     select $1 where exists (select from tenant.policies where tenant_id = $1 and selection ? 'groups')
       or exists (select from tenant.guardrails where tenant_id = $1 and selection ? 'groups')`,
    [tenantId],
  );
}

/** A side's groups of a user. */
export interface GivenGroups {
  tenantId: string;
  personId: string;
  source: UserSource;
  groups: ReadonlySet<string>;
}

/** Replaces the groups from one side; those from others stay. Throws `limit_reached` beyond the groups of a user. */
export async function replaceGroups(
  db: Queryable,
  { tenantId, personId, source, groups }: GivenGroups,
): Promise<void> {
  const ids = [...groups];
  await db.query(
    'delete from tenant.group_members where person_id = $1 and sources = array[$2] and group_id <> all($3::uuid[])',
    [personId, source, ids],
  );
  await db.query(
    `update tenant.group_members set sources = array_remove(sources, $2)
     where person_id = $1 and $2 = any(sources) and group_id <> all($3::uuid[])`,
    [personId, source, ids],
  );
  await db.query(
    `insert into tenant.group_members as m (group_id, person_id, tenant_id, sources)
     select id, $1, $2, array[$3] from unnest($4::uuid[]) as id order by id
     on conflict (group_id, person_id) do update set sources = array_append(m.sources, $3)
       where not $3 = any(m.sources)`,
    [personId, tenantId, source, ids],
  );
  const { count } = await db.one<{ count: number }>(
    'select count(*)::integer as count from tenant.group_members where person_id = $1',
    [personId],
  );
  if (count > maxGroupsOfUser)
    throw new AppError('limit_reached', `A user has at most ${maxGroupsOfUser} groups.`, { param: 'groups' });
}

/** Takes a user out of all groups. */
export async function leaveGroups(db: Queryable, personId: string): Promise<void> {
  await db.query('delete from tenant.group_members where person_id = $1', [personId]);
}
