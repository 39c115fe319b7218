import { userId as userIdShape } from '@gatehouse/contract/fields';
import type { UserDataDeletion } from '@gatehouse/contract/users';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { orNotFound, pathParameter, resourceId } from '@gatehouse/http/resource';
import type { TenantPrincipal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { maxRunningDeletions, ownIntervalMinutes } from '../bounds.ts';
import {
  countRunning,
  findDeletion,
  startDeletion,
  wasRequestedLately,
  type Deletion,
  type DeletionJobs,
  type DeletionStore,
} from './deletion-store.ts';
import { forgetNamed, formsOf } from '../users/user-change-store.ts';
import type { UserStore } from '../users/user-store.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';

const what = 'deletion';

export interface UserDataDependencies extends Pick<BaseDependencies, 'keyRing' | 'changes'> {
  deletions: DeletionStore;
  users: UserStore;
  jobs: DeletionJobs;
}

/** `/v1/users/{user_id}/data*` */
export function userDataHandlers(dependencies: UserDataDependencies): Record<string, Handler> {
  const { deletions, users, jobs, keyRing, changes } = dependencies;
  const hashesOf = (tenantId: string, userId: string) => keyRing.hashes(userId, `tenant/${tenantId}/user`);
  return {
    'users.data.delete': async (call: Call) => {
      const { principal, userId, name: sentName } = await userOf(users, keyRing, call);
      const { tenantId } = principal;
      const userHashes = hashesOf(tenantId, userId);
      const isSelf = principal.role !== 'admin';
      // A key bound to the user would put the user id into the audit log.
      const anonymous = { ...call, principal: { ...principal, userId: null } };
      return changes.change(anonymous, async (db) => {
        if ((await countRunning(db, tenantId, maxRunningDeletions)) >= maxRunningDeletions)
          throw tooManyRunning();
        if (isSelf && (await wasRequestedLately(db, tenantId, userHashes))) throw requestedLately();
        const [userHash] = userHashes;
        const names = await forgetNamed(db, keyRing, { tenantId, name: sentName });
        const otherNames = names
          .filter((name) => name !== userId)
          .map((name) => ({ userId: name, userHash: hashesOf(tenantId, name)[0] }));
        const id = await startDeletion(db, jobs, { tenantId, userId, userHash, otherNames });
        const deletion = orNotFound(await findDeletion(db, tenantId, { id, userHashes }), what);
        const after = { user_hash: userHash };
        return {
          body: showDeletion(deletion),
          changes: [{ action: 'user_data.deletion_requested', id, before: null, after }],
        };
      });
    },

    'users.data.deletions.get': async (call: Call) => {
      const { principal, userId } = await userOf(users, keyRing, call);
      const { tenantId } = principal;
      const id = resourceId(call.params, what);
      const deletion = await deletions.find(tenantId, { id, userHashes: hashesOf(tenantId, userId) });
      return { body: showDeletion(orNotFound(deletion, what)) };
    },
  };
}

/** The user in the path, by any of its names. Throws `user_mismatch` for a key bound to another user. */
async function userOf(
  users: UserStore,
  keyRing: KeyRing,
  call: Call,
): Promise<{ principal: TenantPrincipal; userId: string; name: string }> {
  const principal = tenantOf(call);
  const { tenantId } = principal;
  const name = pathParameter(call.params, 'user_id', userIdShape);
  const known = await users.find(tenantId, formsOf(keyRing, { tenantId, name }));
  const userId = known?.userId ?? name;
  const { boundUser } = principal;
  if (boundUser !== null && boundUser !== userId)
    throw new AppError('user_mismatch', 'The API key is bound to another user.', { param: 'user_id' });
  return { principal, userId, name };
}

function requestedLately(): AppError {
  return new AppError(
    'rate_limit_exceeded',
    `The deletion of your data was requested less than ${ownIntervalMinutes} minutes ago. It goes on by itself.`,
    { headers: { 'retry-after': String(ownIntervalMinutes * 60) } },
  );
}

function tooManyRunning(): AppError {
  return new AppError(
    'rate_limit_exceeded',
    `The tenant has ${maxRunningDeletions} running deletions. Try again when some have completed.`,
    { headers: { 'retry-after': '60' } },
  );
}

function showDeletion({ id, completed, services }: Deletion): UserDataDeletion {
  return {
    id,
    status: statusOf(completed),
    services: services.map((part) => ({
      service: part.service,
      status: statusOf(part.completed),
      counts: part.counts,
    })),
  };
}

function statusOf(completed: boolean): UserDataDeletion['status'] {
  return completed ? 'completed' : 'running';
}
