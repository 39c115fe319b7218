import { isFields } from '@gatehouse/kit/fields';
import { isUuid } from '@gatehouse/kit/ids';
import { changesOf, listOf, textOf, wrong, type Operation } from './scim-values.ts';

/** A group as an identity provider sees it. */
export interface ScimGroup {
  id: string;
  name: string;
  externalId: string | null;
  /** Members from whatever side. */
  members: number;
  createdAt: Date;
  updatedAt: Date;
}

/** A change of a group; absent members stay. */
export interface GroupChange {
  name?: string;
  externalId?: string | null;
  /** Whether it begins without the present members. */
  clears: boolean;
  /** Ids of users, and whether each is a member afterwards. */
  members: Map<string, boolean>;
}

/** Longer names are refused. */
const maxName = 256;

/** The change by a POST or PUT. An absent `externalId` is as before. Throws a 400. */
export function groupFromBody(body: unknown): GroupChange & { name: string } {
  const { name, ...change } = patchOf(changesOf('replace', body));
  if (name === undefined) throw wrong('displayName', 'displayName is missing.');
  return { ...change, name, clears: true };
}

/** The change by a PATCH. Throws a 400. */
export function patchOf(operations: readonly Operation[]): GroupChange {
  const change: GroupChange = { clears: false, members: new Map() };
  for (const operation of operations) note(change, operation);
  return change;
}

function note(change: GroupChange, operation: Operation): void {
  const { op, path, value } = operation;
  if (path.attribute === 'displayname') {
    const name = op === 'remove' ? null : textOf(value, 'displayName', maxName);
    if (name === null || !/\S/.test(name))
      throw wrong('displayName', 'displayName must have a visible character.');
    change.name = name;
  } else if (path.attribute === 'externalid')
    change.externalId = op === 'remove' ? null : textOf(value, 'externalId', maxName);
  else if (path.attribute === 'members') noteMembers(change, operation);
}

function noteMembers(change: GroupChange, { op, path: { where }, value }: Operation): void {
  if (where.length > 0) {
    if (where.some(({ attribute }) => attribute !== 'value'))
      throw wrong('path', 'Members are found by value.');
    for (const { value: id } of where) change.members.set(memberId(id), op !== 'remove');
    return;
  }
  // Entra ID removes the members of the value; by the RFC, a removal without one empties the group.
  if (op === 'replace' || (op === 'remove' && (value === undefined || value === null))) {
    change.clears = true;
    change.members.clear();
  }
  for (const member of listOf(value))
    change.members.set(memberId(isFields(member) ? member['value'] : member), op !== 'remove');
}

function memberId(value: unknown): string {
  if (typeof value !== 'string') throw wrong('members', 'A member must have the id of a user as value.');
  return isUuid(value) ? value.toLowerCase() : value;
}

/** The ids of a change by whether they are members afterwards. */
export function membersOf({ members }: GroupChange, isMember: boolean): string[] {
  return [...members].flatMap(([id, is]) => (is === isMember ? [id] : []));
}
