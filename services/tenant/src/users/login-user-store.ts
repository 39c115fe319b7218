import { foldedGroup } from '@gatehouse/kit/folded-group';
import { AppError } from '@gatehouse/kit/errors';
import type { Queryable } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { maxGroupsOfUser, maxTenantGroups, maxUsers } from '../bounds.ts';
import { groupIds, replaceGroups } from './group-store.ts';
import { changeUser, formsOf, type NamedUser } from './user-change-store.ts';
import type { User } from './user.ts';
import { findUser } from './user-store.ts';

/** A person who logs in at an issuer as a user of a tenant. */
export interface LoginUser {
  tenantId: string;
  userId: string;
  displayName: string;
  /** The groups of the claim; null if it has no readable ones. */
  groups: readonly string[] | null;
}

/** The same person when the issuer confirms the login again. */
export type RevalidatedUser = Omit<LoginUser, 'displayName'>;

/**
 * Writes the user of a login: the name if logins alone have written it, and the groups of the claim in place of those of
 * earlier logins. A user known to SCIM gets groups from it alone. A value of the
 * claim is the external id of a group, else its name. Beyond a bound of users or groups the rest is left out: no login
 * fails for it. Throws `user_blocked`.
 */
export async function noteLogin(db: Queryable, keyRing: KeyRing, login: LoginUser): Promise<void> {
  const { tenantId, userId: name } = login;
  await writeLogin(db, keyRing, { login, before: await activeUser(db, keyRing, { tenantId, name }) });
}

/**
 * Writes the groups of a revalidated login likewise, unless the user was blocked or deleted since: only a login makes a
 * user.
 */
export async function noteRevalidation(
  db: Queryable,
  keyRing: KeyRing,
  login: RevalidatedUser,
): Promise<void> {
  const { tenantId, userId: name } = login;
  const before = await findUser(db, tenantId, formsOf(keyRing, { tenantId, name }));
  if (before === null || before.blockedBy.length > 0) return;
  // Renewed tokens may have no name.
  await writeLogin(db, keyRing, { login: { ...login, displayName: null }, before });
}

/** The user with a name; null for a name outside the directory. Throws `user_blocked`. */
export async function activeUser(db: Queryable, keyRing: KeyRing, named: NamedUser): Promise<User | null> {
  const user = await findUser(db, named.tenantId, formsOf(keyRing, named));
  if (user === null || user.blockedBy.length === 0) return user;
  throw new AppError('user_blocked', 'Your user is blocked in this tenant.');
}

async function writeLogin(
  db: Queryable,
  keyRing: KeyRing,
  { login, before }: { login: RevalidatedUser & { displayName: string | null }; before: User | null },
): Promise<void> {
  const { tenantId, userId, displayName } = login;
  const isProvisioned = before !== null && (before.scim !== null || before.externalId !== null);
  const values = isProvisioned || login.groups === null ? null : groupNamesIn(login.groups);
  const isNamed =
    displayName === null ||
    (before !== null && (before.source !== 'login' || before.displayName === displayName));
  if (before !== null && isNamed && (values === null || (await hasGroups(db, before, { tenantId, values }))))
    return;
  const room = await roomOf(db, tenantId);
  if (before === null && room.users <= 0) return;
  const fields = isNamed ? {} : { displayName };
  const { after } = await changeUser(db, keyRing, { tenantId, name: userId, source: 'login', fields });
  if (values === null) return;
  const known = await knownGroups(db, tenantId, values);
  const missing = values.filter((value) => !known.has(value)).slice(0, Math.max(0, room.groups));
  const ids = new Set([...known.values(), ...(await groupIds(db, tenantId, missing))]);
  const others = await countOtherGroups(db, after.id, [...ids]);
  const groups = new Set([...ids].slice(0, maxGroupsOfUser - others));
  await replaceGroups(db, { tenantId, personId: after.id, source: 'login', groups });
}

/** The possible names of groups among the values of a claim. */
function groupNamesIn(values: readonly string[]): string[] {
  const fits = (value: string): boolean =>
    value.length <= 256 && /\S/.test(value) && !value.includes('\0') && value.isWellFormed();
  return [...new Set(values.filter(fits))].slice(0, maxGroupsOfUser);
}

/** Whether the groups of a user from logins are these. */
async function hasGroups(
  db: Queryable,
  { id }: User,
  { tenantId, values }: { tenantId: string; values: readonly string[] },
): Promise<boolean> {
  const known = await knownGroups(db, tenantId, values);
  if (values.some((value) => !known.has(value))) return false;
  const rows = await db.all<{ id: string }>(
    `select group_id as id from tenant.group_members where person_id = $1 and 'login' = any(sources)`,
    [id],
  );
  const ids = new Set(known.values());
  return rows.length === ids.size && rows.every((row) => ids.has(row.id));
}

/** The ids of existing groups by the values of a claim. */
async function knownGroups(
  db: Queryable,
  tenantId: string,
  values: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db.all<{ id: string; folded: string; externalId: string | null }>(
    `(select id, folded, external_id as "externalId" from tenant.groups
      where tenant_id = $1 and folded = any($2::text[]))
     union
     (select id, folded, external_id from tenant.groups where tenant_id = $1 and external_id = any($3::text[]))`,
    [tenantId, values.map(foldedGroup), values],
  );
  const byName = new Map(rows.map(({ folded, id }) => [folded, id]));
  const byExternalId = new Map(rows.map(({ externalId, id }) => [externalId, id]));
  return new Map(
    values.flatMap((value) => {
      const id = byExternalId.get(value) ?? byName.get(foldedGroup(value));
      return id === undefined ? [] : [[value, id] as const];
    }),
  );
}

/** The number of a user's groups from others than logins, beside these. */
async function countOtherGroups(db: Queryable, personId: string, ids: readonly string[]): Promise<number> {
  const { count } = await db.one<{ count: number }>(
    `select count(*)::integer as count from tenant.group_members
     where person_id = $1 and sources <> array['login'] and group_id <> all($2::uuid[])`,
    [personId, ids],
  );
  return count;
}

/** Further users and groups of the tenant, up to the bounds. */
async function roomOf(db: Queryable, tenantId: string): Promise<{ users: number; groups: number }> {
  const row = await db.first<{ users: number; groups: number }>(
    'select users, groups from tenant.user_directories where tenant_id = $1',
    [tenantId],
  );
  return { users: maxUsers - (row?.users ?? 0), groups: maxTenantGroups - (row?.groups ?? 0) };
}
