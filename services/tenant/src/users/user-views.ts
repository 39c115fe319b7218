import type { Change } from '@gatehouse/audited-changes/audit-entry';
import type * as contract from '@gatehouse/contract/users';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { ChangedUser, DirectoryGroup, User } from './user.ts';

/** The wire shapes of users and groups. */

/** `name`: the user id of a block whose user was deleted, as the request has it. */
export function showUser(user: User, name = ''): contract.User {
  return {
    user_id: user.userId ?? name,
    aliases: [...user.aliases],
    display_name: user.displayName,
    emails: [...user.emails],
    groups: [...user.groups],
    status: user.blockedBy.length === 0 ? 'active' : 'blocked',
    blocked_by: [...user.blockedBy],
    source: user.source,
    external_id: user.externalId,
    created_at: user.createdAt.toISOString(),
    updated_at: user.updatedAt.toISOString(),
    last_seen_at: user.lastSeenAt?.toISOString() ?? null,
  };
}

export function showGroup({ name, externalId, members }: DirectoryGroup): contract.Group {
  return { name, external_id: externalId, members };
}

/** Describes users for the audit log, which is never deleted: by a keyed hash, without names and addresses. */
export function userAudit(keyRing: KeyRing, tenantId: string) {
  const view = (user: User | null): object | null =>
    user && {
      // As deletions of the user's data have it.
      user_hash: user.userId === null ? null : keyRing.hashes(user.userId, `tenant/${tenantId}/user`)[0],
      ...{ status: user.blockedBy.length === 0 ? 'active' : 'blocked', blocked_by: user.blockedBy },
      ...{ groups: user.groups, aliases: user.aliases.length, source: user.source },
    };
  return {
    changed: ({ before, after }: ChangedUser): Change => ({
      action: before === null ? 'user.created' : 'user.updated',
      ...{ id: after.id, before: view(before), after: view(after) },
    }),
    deleted: (user: User): Change => ({
      action: 'user.deleted',
      id: user.id,
      before: view(user),
      after: null,
    }),
  };
}
