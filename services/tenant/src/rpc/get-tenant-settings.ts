import type { Rpc } from '@gatehouse/grpc/server';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { GetTenantSettingsRequest, GetTenantSettingsResponse } from '@gatehouse/proto/tenant/v1/tenant';
import type { TenantStore } from '../store/tenant-store.ts';

/** What other services need to know of a tenant. */
export function getTenantSettings(
  tenants: TenantStore,
): Rpc<GetTenantSettingsRequest, GetTenantSettingsResponse> {
  return {
    callers: ['chat', 'analytics'],
    handle: async ({ tenantId }) => {
      const tenant = isUuid(tenantId) ? await tenants.find(tenantId) : null;
      if (tenant === null) throw new AppError('not_found', 'There is no such tenant.');
      const { allowedModels, previews, retentionDays } = tenant;
      return {
        allowedModels: allowedModels === null ? undefined : { ids: [...allowedModels] },
        previewsEnabled: previews.enabled,
        previewMaxChars: previews.max_chars,
        retentionDays,
      };
    },
  };
}
