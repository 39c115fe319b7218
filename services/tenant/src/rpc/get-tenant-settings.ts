import type { Budget, Limits } from '@gatehouse/contract/keys';
import type { Rpc } from '@gatehouse/grpc/server';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type {
  GetTenantSettingsRequest,
  GetTenantSettingsResponse,
  Resource as WireResource,
} from '@gatehouse/proto/tenant/v1/tenant';
import { limitOf, resources } from '../domain/quota.ts';
import type { TenantStore } from '../store/tenant-store.ts';
import { toWire } from './resources.ts';

/** What other services need to know of a tenant. */
export function getTenantSettings(
  tenants: TenantStore,
): Rpc<GetTenantSettingsRequest, GetTenantSettingsResponse> {
  return {
    callers: ['chat', 'analytics'],
    handle: async ({ tenantId }) => {
      const found = isUuid(tenantId) ? await tenants.find(tenantId) : null;
      if (found === null) throw new AppError('not_found', 'There is no such tenant.');
      const { allowedModels, previews, retentionDays, limits, budget } = found.tenant;
      return {
        allowedModels: allowedModels === null ? undefined : { ids: [...allowedModels] },
        previewsEnabled: previews.enabled,
        previewMaxChars: previews.max_chars,
        retentionDays,
        limited: limitedOf(limits, budget),
        limitedKeys: found.limitedKeys.map((key) => ({
          id: key.id,
          limited: limitedOf(key.limits, key.budget),
        })),
      };
    },
  };
}

function limitedOf(limits: Limits | null, budget: Budget | null): WireResource[] {
  return resources.filter((resource) => limitOf({ limits, budget }, resource) !== null).map(toWire);
}
