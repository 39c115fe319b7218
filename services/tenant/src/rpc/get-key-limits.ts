import type { Rpc } from '@gatehouse/grpc/server';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { GetKeyLimitsRequest, GetKeyLimitsResponse } from '@gatehouse/proto/tenant/v1/tenant';
import type { TenantStore } from '../store/tenant-store.ts';
import { limitedOf } from './resources.ts';

/** Which resources of one key have limits of their own. */
export function getKeyLimits(tenants: TenantStore): Rpc<GetKeyLimitsRequest, GetKeyLimitsResponse> {
  return {
    callers: ['chat'],
    handle: async ({ tenantId, apiKeyId }) => {
      if (![tenantId, apiKeyId].every(isUuid))
        throw new AppError('invalid_value', 'Tenant and API key are UUIDs.');
      const key = await tenants.findLimitedKey(tenantId, apiKeyId);
      return { limited: key === null ? [] : limitedOf(key.limits, key.budget) };
    },
  };
}
