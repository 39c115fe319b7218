import type { Change } from '@gatehouse/audited-changes/audit-entry';
import { AppError } from '@gatehouse/kit/errors';
import type { Queryable } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { replaceGroups } from '../users/group-store.ts';
import { changeUser, forgetUser, formsOf, scimNames } from '../users/user-change-store.ts';
import { revokeKeysOf } from '../users/user-keys-store.ts';
import { userAudit } from '../users/user-views.ts';
import { findUser, foldedNamesOf, lockUsers, readUser } from '../users/user-store.ts';
import { foldedName, type ChangedUser, type User } from '../users/user.ts';
import { maxAliases } from '../bounds.ts';
import { attributesOf, type ScimUser } from './scim-user.ts';
import { scimUserById, scimUserIdOf, setScim } from './scim-user-store.ts';

/** Changes of users by SCIM, under the lock of `lockUsers`. The connection acts as `tenant_app`. */

/**
 * Adds a user, or takes over an entry with one of its names, which keeps its user id. Throws `user_name_taken` for a user
 * known to SCIM, and for names of two.
 */
export async function createScimUser(
  db: Queryable,
  keyRing: KeyRing,
  { tenantId, user }: { tenantId: string; user: ScimUser },
): Promise<ChangedUser> {
  await lockUsers(db, tenantId);
  const { userName, externalId } = user;
  const isById = (await scimUserIdOf(db, tenantId)) === 'externalId';
  const primary = isById ? (externalId ?? userName) : userName;
  const alias = primary === userName ? externalId : userName;
  const find = (name: string): Promise<User | null> =>
    findUser(db, tenantId, formsOf(keyRing, { tenantId, name }));
  const byPrimary = await find(primary);
  const byAlias = alias === null ? null : await find(alias);
  if (byPrimary !== null && byAlias !== null && byPrimary.id !== byAlias.id)
    throw taken('userName and externalId are names of two users.');
  const before = byPrimary ?? byAlias;
  if (before !== null && before.scim !== null) throw taken('A user with this userName or externalId exists.');
  // The block of a deleted user is found by its own name.
  const name = before?.userId ?? (byPrimary === null && byAlias !== null && alias !== null ? alias : primary);
  return writeUser(db, keyRing, { tenantId, name, before, user });
}

function taken(message: string): AppError {
  return new AppError('user_name_taken', message);
}

/** Changes a user known to SCIM; null without one. Throws `user_name_taken`, and the errors of `change`. */
export async function changeScimUser(
  db: Queryable,
  keyRing: KeyRing,
  { tenantId, id, change }: { tenantId: string; id: string; change: (before: User) => ScimUser },
): Promise<ChangedUser | null> {
  await lockUsers(db, tenantId);
  const before = await scimUserById(db, tenantId, id);
  if (before === null || before.userId === null) return null;
  return writeUser(db, keyRing, { tenantId, name: before.userId, before, user: change(before) });
}

interface WrittenUser {
  tenantId: string;
  /** A name by which the user is found, or the user id of a new one. */
  name: string;
  before: User | null;
  user: ScimUser;
}

async function writeUser(
  db: Queryable,
  keyRing: KeyRing,
  { tenantId, name, before, user }: WrittenUser,
): Promise<ChangedUser> {
  const { userName, externalId, displayName, emails, active } = user;
  const names = [userName, ...(externalId === null ? [] : [externalId])];
  const changed = await changeUser(db, keyRing, {
    ...{ tenantId, name },
    source: 'scim',
    fields: {
      aliases: aliasesWith(names, before),
      ...{ displayName, emails: [...new Set(emails.map(({ value }) => value))], isBlocked: !active },
    },
  });
  const { id } = changed.after;
  await setScim(db, id, { externalId, scim: attributesOf(user) });
  if (before !== null && before.scim === null)
    await replaceGroups(db, { tenantId, personId: id, source: 'login', groups: new Set() });
  return { before: changed.before, after: await readUser(db, id) };
}

/**
 * The aliases of a user with the names that SCIM has for it now. A user renamed so often that these are too many loses the
 * names before them: a directory sends its change at every sync, and couldn't end it.
 */
function aliasesWith(names: readonly string[], before: User | null): string[] {
  const { aliases = [], userId = null } = before ?? {};
  const all = new Set([...aliases, ...names].map(foldedName));
  if (userId !== null) all.delete(foldedName(userId));
  if (all.size <= maxAliases) return [...aliases, ...names];
  const replaced = new Set(scimNames(before).map(foldedName));
  return [...aliases.filter((alias) => !replaced.has(foldedName(alias))), ...names];
}

/** Forgets a user, revokes its keys, and leaves a block by SCIM; null without one. */
export async function deleteScimUser(
  db: Queryable,
  keyRing: KeyRing,
  { tenantId, id }: { tenantId: string; id: string },
): Promise<Change[] | null> {
  await lockUsers(db, tenantId);
  const user = await scimUserById(db, tenantId, id);
  if (user === null || user.userId === null) return null;
  const { after } = await changeUser(db, keyRing, {
    ...{ tenantId, name: user.userId, fields: { isBlocked: true } },
    source: 'scim',
  });
  const revoked = await revokeKeysOf(db, tenantId, await foldedNamesOf(db, id));
  await forgetUser(db, keyRing, { tenantId, user: after });
  return [...revoked, userAudit(keyRing, tenantId).deleted(after)];
}
