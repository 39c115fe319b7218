import type { RpcsOf } from '@gatehouse/grpc/rpc';
import {
  TenantServiceService,
  type DirectoryUser,
  type GetTenantSettingsResponse,
} from '@gatehouse/proto/tenant/v1/tenant';
import { someRpcs } from './some-rpcs.ts';

/** Users by tenant and lower-case name, with a space between. */
export type KnownUsers = Map<string, Pick<DirectoryUser, 'userId' | 'blocked'> & Partial<DirectoryUser>>;

/** `ResolveUser` for these users. */
export function resolveUserOf(users: KnownUsers): TenantRpcs['resolveUser'] {
  return {
    callers: ['agent', 'chat', 'memory', 'webhook'],
    handle: async ({ tenantId, name }) => {
      const user = users.get(`${tenantId} ${name.toLowerCase()}`);
      return { user: user && { id: user.userId, groups: [], ...user } };
    },
  };
}

export type TenantRpcs = RpcsOf<typeof TenantServiceService>;

/** The RPCs of a tenant service, of which the test implements some; all others fail. */
export function tenantRpcs(played: Partial<TenantRpcs>): TenantRpcs {
  return someRpcs(TenantServiceService, played);
}

/** Settings of a tenant without restrictions, except for `fields`. */
export function tenantSettings(fields: Partial<GetTenantSettingsResponse> = {}): GetTenantSettingsResponse {
  return {
    allowedModels: undefined,
    previewsEnabled: true,
    previewMaxChars: 500,
    contentFull: false,
    retentionDays: 90,
    limited: [],
    limitedKeys: [],
    someKeyLimited: false,
    status: 'active',
    providerKeys: [],
    timezone: 'UTC',
    unleasedRequests: 0n,
    policies: [],
    guardrails: [],
    hasUsers: false,
    hasSessionBudgets: false,
    actingUsers: 'any',
    ...fields,
  };
}
