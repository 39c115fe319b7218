import type { User as ShownUser } from '@gatehouse/contract/users';
import type { KeyRing } from '@gatehouse/secrets/key-ring';

/** Sides with users, groups and blocks of their own. */
export type UserSource = ShownUser['source'];
export type Blocker = ShownUser['blocked_by'][number];

/** Attributes of a user as SCIM has them, as far as the directory has no others for them. */
export interface ScimAttributes {
  userName: string;
  name: Readonly<Record<string, string>> | null;
  emails: readonly ScimEmail[];
  /** The folded address that filters compare. */
  email: string | null;
}

export interface ScimEmail {
  value: string;
  type?: string;
  primary?: boolean;
  display?: string;
}

/** A user of the directory. */
export interface User {
  id: string;
  /** Null for a block whose user was deleted. */
  userId: string | null;
  aliases: readonly string[];
  displayName: string | null;
  emails: readonly string[];
  /** The names of its groups, from whatever side. */
  groups: readonly string[];
  blockedBy: readonly Blocker[];
  source: UserSource;
  externalId: string | null;
  /** Null for a user unknown to SCIM. */
  scim: ScimAttributes | null;
  createdAt: Date;
  updatedAt: Date;
  lastSeenAt: Date | null;
}

/** A group of users. */
export interface DirectoryGroup {
  id: string;
  name: string;
  externalId: string | null;
  members: number;
}

/** A change of a user by one side; absent members stay as they are. */
export interface UserFields {
  aliases?: readonly string[] | undefined;
  displayName?: string | null | undefined;
  emails?: readonly string[] | undefined;
  /** The groups from this side, by name. */
  groups?: readonly string[] | undefined;
  isBlocked?: boolean | undefined;
}

/** A user before and after a change; null for a new one. */
export interface ChangedUser {
  before: User | null;
  after: User;
}

/** A name as all its spellings have it. Names of users are ASCII. */
export function foldedName(name: string): string {
  return name.toLowerCase();
}

/** Before hashes in place of names: no name has this character. */
export const hashMark = '\u00a7';

/**
 * The name under which the block of a deleted user is found: hashes with each key of the ring, the current one first. A
 * block is found as long as the key of its hash is in the ring.
 */
export function hashedNames(keyRing: KeyRing, tenantId: string, folded: string): [string, ...string[]] {
  const [current, ...older] = keyRing.hashes(folded, `tenant/${tenantId}/user-name`);
  return [hashMark + current, ...older.map((hash) => hashMark + hash)];
}
