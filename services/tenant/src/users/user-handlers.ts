import { foldedGroup } from '@gatehouse/kit/folded-group';
import { userId as userIdShape } from '@gatehouse/contract/fields';
import type { listGroups, listUsers, PutUser } from '@gatehouse/contract/users';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { decodeCursor, encodeCursor, pageOf, pageReply } from '@gatehouse/http/pagination';
import { orNotFound, pathParameter } from '@gatehouse/http/resource';
import type { Queryable } from '@gatehouse/pg/pool';
import type { Change } from '@gatehouse/audited-changes/audit-entry';
import type { z } from 'zod';
import type { BaseDependencies } from '../shared/base-dependencies.ts';
import { changeUser, forgetUser, formsOf, type NamedUser } from './user-change-store.ts';
import type { GroupStore } from './group-store.ts';
import { revokeKeysOf } from './user-keys-store.ts';
import { foldedName } from './user.ts';
import { findUser, foldedNamesOf, lockUsers, type UserStore } from './user-store.ts';
import { showGroup, showUser, userAudit } from './user-views.ts';

const what = 'user';

export interface UserDependencies extends Pick<BaseDependencies, 'keyRing' | 'changes'> {
  users: UserStore;
  groups: GroupStore;
}

/** `/v1/users*` without the data of users, and `/v1/groups`. */
export function userHandlers(dependencies: UserDependencies): Record<string, Handler> {
  const { users, groups, keyRing, changes } = dependencies;
  return {
    'users.list': async (call: Call<unknown, z.output<typeof listUsers>>) => {
      const { group, status, q, limit, cursor } = call.query;
      const { rows, lookedTo } = await users.list(tenantOf(call).tenantId, {
        group: group === undefined ? null : foldedGroup(group),
        isBlocked: status === undefined ? null : status === 'blocked',
        q: q ?? null,
        ...{ limit, before: decodeCursor(cursor) },
      });
      const page = pageOf(rows, limit, (user) => showUser(user));
      if (page.has_more || lookedTo === null) return { body: page };
      return { body: { ...page, has_more: true, next_cursor: encodeCursor(lookedTo) } };
    },

    'users.get': async (call: Call) => {
      const named = namedUser(call);
      const user = await users.find(named.tenantId, formsOf(keyRing, named));
      return { body: showUser(orNotFound(user, what), named.name) };
    },

    'users.put': (call: Call<PutUser>) => {
      const named = namedUser(call);
      const { aliases, display_name: displayName, emails, groups: groupNames, status } = call.body;
      const isBlocked = status === undefined ? undefined : status === 'blocked';
      const fields = { aliases, displayName, emails, groups: groupNames, isBlocked };
      return changes.change(call, async (db) => {
        const changed = await changeUser(db, keyRing, { ...named, source: 'api', fields });
        return {
          status: changed.isNew ? 201 : 200,
          body: showUser(changed.after),
          changes: [userAudit(keyRing, named.tenantId).changed(changed)],
        };
      });
    },

    'users.delete': (call: Call) => {
      const named = namedUser(call);
      return changes.change(call, async (db) => ({ changes: await deleteNamed(db, dependencies, named) }));
    },

    'groups.list': (call: Call<unknown, z.output<typeof listGroups>>) =>
      pageReply(call, (page) => groups.list(tenantOf(call).tenantId, page), showGroup),
  };
}

/** The user in the path, by any of its names. */
function namedUser(call: Call): NamedUser {
  return {
    tenantId: tenantOf(call).tenantId,
    name: pathParameter(call.params, 'user_id', userIdShape),
  };
}

/** Forgets a user. The keys of a blocked one are revoked, and its block stays. */
async function deleteNamed(
  db: Queryable,
  { keyRing }: Pick<UserDependencies, 'keyRing'>,
  named: NamedUser,
): Promise<Change[]> {
  const { tenantId, name } = named;
  await lockUsers(db, tenantId);
  const user = orNotFound(await findUser(db, tenantId, formsOf(keyRing, named)), what);
  const names = [foldedName(name), ...(await foldedNamesOf(db, user.id))];
  const revoked = user.blockedBy.length === 0 ? [] : await revokeKeysOf(db, tenantId, names);
  if (user.userId === null) return revoked;
  await forgetUser(db, keyRing, { tenantId, user });
  return [...revoked, userAudit(keyRing, tenantId).deleted(user)];
}
