import type { UserDirectory, UserGroup } from '@gatehouse/shell/user-directory';
import type { RequestContext } from '@gatehouse/http/request-context';
import { AppError } from '@gatehouse/kit/errors';
import type { TenantSettings } from './tenant-settings.ts';

/** Finds users of a tenant's directory. */
export type FindUser = UserDirectory['find'];

/** The groups of a run without a user of the directory. */
export const noGroups: readonly UserGroup[] = Object.freeze([]);

/** The caller of a run: a request or delegation, with its acting user. */
type Caller = Partial<RequestContext> & { tenantId: string; userId: string | null };

/**
 * The present groups of a beginning run's user. A promise only for a look-up; the directory of a tenant without
 * users is not asked. Throws `user_blocked` and, by the tenant's setting, `acting_user_required` and `user_unknown`.
 */
export function groupsOfUser(
  findUser: FindUser,
  { hasUsers, actingUsers }: Pick<TenantSettings, 'hasUsers' | 'actingUsers'>,
  { tenantId, userId, requestId, trace }: Caller,
): readonly UserGroup[] | Promise<readonly UserGroup[]> {
  if (userId === null) {
    if (actingUsers === 'any') return noGroups;
    throw new AppError(
      'acting_user_required',
      'Runs of this tenant act for a user: send X-Service-User-Id, or use a key that is bound to a user.',
      { param: 'X-Service-User-Id' },
    );
  }
  const groupsOf = (user: Awaited<ReturnType<FindUser>>): readonly UserGroup[] => {
    if (user === null && actingUsers === 'known') throw unknownUser();
    return user?.groups ?? noGroups;
  };
  if (!hasUsers) return groupsOf(null);
  const user = findUser(tenantId, userId, { ...(requestId !== undefined && { requestId }), trace });
  return user instanceof Promise ? user.then(groupsOf) : groupsOf(user);
}

function unknownUser(): AppError {
  return new AppError('user_unknown', 'Runs of this tenant act for users of its directory alone.', {
    param: 'X-Service-User-Id',
  });
}
