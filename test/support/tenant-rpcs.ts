import type { RpcsOf } from '@gatehouse/grpc/server';
import type { GetTenantSettingsResponse, TenantServiceService } from '@gatehouse/proto/tenant/v1/tenant';

type TenantRpcs = RpcsOf<typeof TenantServiceService>;

/** The RPCs of a tenant service, of which the test implements some; all others fail. */
export function tenantRpcs(played: Partial<TenantRpcs>): TenantRpcs {
  const unused = { callers: [], handle: () => Promise.reject(new Error('not part of this test')) };
  return {
    authenticate: unused,
    getTenantSettings: unused,
    lease: unused,
    settle: unused,
    recordAudit: unused,
    ...played,
  };
}

/** Settings of a tenant without restrictions, except for `fields`. */
export function tenantSettings(fields: Partial<GetTenantSettingsResponse> = {}): GetTenantSettingsResponse {
  return {
    allowedModels: undefined,
    previewsEnabled: true,
    previewMaxChars: 500,
    retentionDays: 90,
    limited: [],
    limitedKeys: [],
    someKeyLimited: false,
    status: 'active',
    ...fields,
  };
}
