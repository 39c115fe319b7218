import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { Changed, Queryable } from '@gatehouse/pg/pool';
import { followRenamedGroup } from '../policies/renamed-group-store.ts';
import { lockUsers } from '../users/user-store.ts';
import { membersOf, type GroupChange } from './scim-group.ts';
import {
  addMembers,
  groupByExternalId,
  groupById,
  groupByName,
  hasTooManyGroups,
  insertGroup,
  knownMembers,
  memberIds,
  removeMembers,
  renameGroup,
  setScimGroup,
  touchMembers,
  type StoredGroup,
} from './scim-group-store.ts';
import { wrong } from './scim-values.ts';

/** Changes of groups by SCIM, under the lock of `lockUsers`. The connection acts as `tenant_app`. */

/** A group before and after a change; null for a new one. */
interface ChangedGroup {
  before: StoredGroup | null;
  after: StoredGroup;
}

/**
 * Adds a group, or takes over one with its external id or else its name. Throws `user_name_taken` for a group known to
 * SCIM.
 */
export async function createScimGroup(
  db: Queryable,
  tenantId: string,
  change: GroupChange & { name: string },
): Promise<ChangedGroup> {
  await lockUsers(db, tenantId);
  const { name, externalId = null } = change;
  const byId = externalId === null ? null : await groupByExternalId(db, tenantId, externalId);
  const before = byId ?? (await groupByName(db, tenantId, name));
  if (before?.isScim === true) throw taken(before === byId ? 'externalId' : 'displayName');
  const id = before?.id ?? (await insertGroup(db, tenantId, name));
  await writeGroup(db, { tenantId, id, before, change });
  return { before, after: await storedGroup(db, tenantId, id) };
}

/** Changes a group known to SCIM; null without one. */
export async function changeScimGroup(
  db: Queryable,
  { tenantId, id, change }: { tenantId: string; id: string; change: GroupChange },
): Promise<Changed<StoredGroup> | null> {
  await lockUsers(db, tenantId);
  const before = await groupById(db, tenantId, id);
  if (before === null) return null;
  await writeGroup(db, { tenantId, id, before, change });
  return { before, after: await storedGroup(db, tenantId, id) };
}

/** Ends the memberships from SCIM. The group stays for what names it, and is the same when it is added again. */
export async function deleteScimGroup(
  db: Queryable,
  tenantId: string,
  id: string,
): Promise<StoredGroup | null> {
  await lockUsers(db, tenantId);
  const group = await groupById(db, tenantId, id);
  if (group === null) return null;
  const members = await memberIds(db, id);
  await removeMembers(db, id, members);
  await touchMembers(db, members);
  await setScimGroup(db, id, { externalId: group.externalId, isScim: false });
  return group;
}

async function storedGroup(db: Queryable, tenantId: string, id: string): Promise<StoredGroup> {
  const group = await groupById(db, tenantId, id);
  if (group === null) throw new Error('the group of the change is missing');
  return group;
}

interface WrittenGroup {
  tenantId: string;
  id: string;
  before: StoredGroup | null;
  change: GroupChange;
}

async function writeGroup(db: Queryable, { tenantId, id, before, change }: WrittenGroup): Promise<void> {
  const { name, externalId = before?.externalId ?? null } = change;
  if (name !== undefined && name !== before?.name) {
    const other = await groupByName(db, tenantId, name);
    if (other !== null && other.id !== id) throw taken('displayName');
    await renameGroup(db, id, name);
    if (before !== null) await followRenamedGroup(db, { tenantId, before: before.name, after: name });
  }
  const other = externalId === null ? null : await groupByExternalId(db, tenantId, externalId);
  if (other !== null && other.id !== id) throw taken('externalId');
  await setScimGroup(db, id, { externalId, isScim: true });
  await changeMembers(db, { tenantId, id, change });
}

function taken(attribute: string): AppError {
  return new AppError('user_name_taken', `Another group has this ${attribute}.`);
}

async function changeMembers(
  db: Queryable,
  { tenantId, id, change }: Omit<WrittenGroup, 'before'>,
): Promise<void> {
  const wanted = membersOf(change, true);
  const known = wanted.every(isUuid) ? await knownMembers(db, tenantId, wanted) : new Set<string>();
  if (wanted.some((member) => !known.has(member)))
    throw wrong('members', 'A member is no user known to SCIM.');
  const current = new Set(change.clears ? await memberIds(db, id) : []);
  const added = wanted.filter((member) => !current.has(member));
  const removed = change.clears
    ? [...current].filter((member) => !known.has(member))
    : membersOf(change, false).filter(isUuid);
  if (removed.length > 0) await removeMembers(db, id, removed);
  if (added.length > 0) {
    await addMembers(db, { tenantId, groupId: id, ids: added });
    if (await hasTooManyGroups(db, added))
      throw new AppError('limit_reached', 'A member has too many groups.');
  }
  if (added.length + removed.length > 0) await touchMembers(db, [...added, ...removed]);
}
