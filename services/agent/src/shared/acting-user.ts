import { tenantOf, type Call } from '@gatehouse/http/app';
import { AppError } from '@gatehouse/kit/errors';

/** The user of a request. Throws `acting_user_required` without one; `reason` says why there must be one. */
export function actingUserOf(
  call: Pick<Call, 'principal'>,
  reason: string,
): { tenantId: string; userId: string } {
  const { tenantId, userId } = tenantOf(call);
  if (userId === null) throw new AppError('acting_user_required', `${reason}: set X-Service-User-Id.`);
  return { tenantId, userId };
}
