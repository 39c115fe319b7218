import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';

/** Ids in one call for names; more are refused. A page of a list has as many items at most. */
export const maxDescribedIds = 200;

/** Throws `invalid_value` unless a call for names has the id of its tenant, if of one, and at most 200 ids. */
export function assertDescribable({ tenantId, ids }: { tenantId?: string; ids: readonly string[] }): void {
  if (ids.length > maxDescribedIds)
    throw new AppError('invalid_value', `Invalid value for ids: at most ${maxDescribedIds}.`, {
      param: 'ids',
    });
  const invalid =
    tenantId === undefined || isUuid(tenantId) ? ids.some((id) => !isUuid(id)) && 'ids' : 'tenant_id';
  if (invalid !== false)
    throw new AppError('invalid_value', `Invalid value for ${invalid}: must be a UUID.`, { param: invalid });
}
