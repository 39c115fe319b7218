import { AppError } from '@gatehouse/kit/errors';
import type { Queryable } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { maxAliases } from '../bounds.ts';
import { groupIds, leaveGroups, replaceGroups } from './group-store.ts';
import {
  foldedName,
  hashedNames,
  type Blocker,
  type User,
  type UserFields,
  type UserSource,
  type ChangedUser,
} from './user.ts';
import {
  clearUser,
  deleteNames,
  deleteUser,
  endSessionsOf,
  findUser,
  foldedNamesOf,
  insertNames,
  insertUser,
  lockUsers,
  namesOfOthers,
  readUser,
  updateUser,
} from './user-store.ts';

/** A user by one of its names. */
export interface NamedUser {
  tenantId: string;
  name: string;
}

/** A change by one side. It makes a missing user. */
export interface UserChange extends NamedUser {
  source: UserSource;
  fields: UserFields;
}

/** The folded forms by which a name is found: itself, then its hashes. */
export function formsOf(keyRing: KeyRing, { tenantId, name }: NamedUser): [string, ...string[]] {
  const folded = foldedName(name);
  return [folded, ...hashedNames(keyRing, tenantId, folded)];
}

/**
 * Changes a user, or makes one. Ends the sessions of a blocked one. Throws `user_name_taken` for an alias of someone
 * else, and `limit_reached`.
 */
export async function changeUser(
  db: Queryable,
  keyRing: KeyRing,
  { tenantId, name, source, fields }: UserChange,
): Promise<ChangedUser & { isNew: boolean }> {
  await lockUsers(db, tenantId);
  const forms = formsOf(keyRing, { tenantId, name });
  const before = await findUser(db, tenantId, forms);
  const id = before?.id ?? (await insertUser(db, { tenantId, userId: name, source }));
  const userId = before?.userId ?? name;
  const blockedBy = blockersAfter(before?.blockedBy ?? [], source, fields.isBlocked);
  if (before === null || before.userId === null) {
    await deleteNames(db, id, forms);
    await insertNames(db, { tenantId, id, names: [{ folded: foldedName(name), alias: null }] });
  }
  if (fields.aliases !== undefined)
    await replaceAliases(db, keyRing, {
      ...{ tenantId, id, userId },
      aliases: source === 'scim' ? fields.aliases : [...scimNames(before), ...fields.aliases],
    });
  if (fields.groups !== undefined) {
    const groups = await groupIds(db, tenantId, fields.groups);
    await replaceGroups(db, { tenantId, personId: id, source, groups });
  }
  await updateUser(db, id, {
    ...{ userId, blockedBy },
    displayName: fields.displayName === undefined ? (before?.displayName ?? null) : fields.displayName,
    emails: fields.emails ?? before?.emails ?? [],
  });
  if (blockedBy.length > 0) await endSessionsOf(db, tenantId, await foldedNamesOf(db, id));
  return {
    isNew: before === null,
    before: before?.userId === null ? null : before,
    after: await readUser(db, id),
  };
}

/** The names by which SCIM knows a user: these stay until SCIM replaces them. */
export function scimNames(user: User | null): string[] {
  if (user === null || user.scim === null) return [];
  return [user.scim.userName, ...(user.externalId === null ? [] : [user.externalId])];
}

/** A side lifts its own block alone. */
function blockersAfter(
  before: readonly Blocker[],
  source: UserSource,
  isBlocked: boolean | undefined,
): Blocker[] {
  if (isBlocked === undefined || source === 'login') return [...before];
  const others = before.filter((blocker) => blocker !== source);
  return isBlocked ? [...others, source].sort() : others;
}

interface NewAliases {
  tenantId: string;
  id: string;
  userId: string;
  aliases: readonly string[];
}

async function replaceAliases(
  db: Queryable,
  keyRing: KeyRing,
  { tenantId, id, userId, aliases }: NewAliases,
): Promise<void> {
  const wanted = new Map(aliases.map((alias) => [foldedName(alias), alias]));
  wanted.delete(foldedName(userId));
  if (wanted.size > maxAliases)
    throw new AppError('invalid_value', `A user has at most ${maxAliases} aliases.`, { param: 'aliases' });
  const hashes = [...wanted.keys()].flatMap((folded) => hashedNames(keyRing, tenantId, folded));
  const taken = await namesOfOthers(db, { tenantId, id, names: [...wanted.keys(), ...hashes] });
  if (taken.length > 0)
    throw new AppError('user_name_taken', 'An alias is the name of another user.', { param: 'aliases' });
  const current = await foldedNamesOf(db, id);
  const stays = (folded: string): boolean => wanted.has(folded) || folded === foldedName(userId);
  // A hash of a name whose text is not known stays: it belongs to the block.
  const isAlias = (folded: string): boolean => foldedNames.test(folded);
  const gone = current.filter((folded) => isAlias(folded) && !stays(folded));
  await deleteNames(db, id, [...gone, ...hashes.filter((hash) => current.includes(hash))]);
  const added = [...wanted].filter(([folded]) => !current.includes(folded));
  await insertNames(db, {
    ...{ tenantId, id },
    names: added.map(([folded, alias]) => ({ folded, alias })),
  });
}

/** Names of users, as no hash is. */
const foldedNames = /^[\x20-\x7e]+$/;

/**
 * Forgets a user. A block stays, under hashes of the names: then the user is returned without its data, and otherwise
 * null is.
 */
export async function forgetUser(
  db: Queryable,
  keyRing: KeyRing,
  { tenantId, user }: { tenantId: string; user: User },
): Promise<User | null> {
  const { id, blockedBy } = user;
  const names = await foldedNamesOf(db, id);
  const plain = names.filter((name) => foldedNames.test(name));
  await leaveGroups(db, id);
  if (blockedBy.length === 0) {
    await deleteNames(db, id, names);
    await deleteUser(db, tenantId, id);
    return null;
  }
  const hashes = plain.map((folded) => ({ folded: hashedNames(keyRing, tenantId, folded)[0], alias: null }));
  await deleteNames(db, id, plain);
  await insertNames(db, { tenantId, id, names: hashes });
  await clearUser(db, id);
  return { ...user, userId: null };
}

/**
 * Forgets the user with a name, as {@link forgetUser} does, for the deletion of the user's data. Returns all its names,
 * sorted, as data may be stored under them: as they were sent, and in lower case.
 */
export async function forgetNamed(db: Queryable, keyRing: KeyRing, named: NamedUser): Promise<string[]> {
  const { tenantId, name } = named;
  const user = await findUser(db, tenantId, formsOf(keyRing, named));
  if (user === null) return [name];
  await lockUsers(db, tenantId);
  const now = await findUser(db, tenantId, formsOf(keyRing, named));
  if (now === null || now.userId === null) return [name];
  await forgetUser(db, keyRing, { tenantId, user: now });
  const names = [name, now.userId, ...now.aliases];
  return [...new Set([...names, ...names.map(foldedName)])].sort();
}
