import type * as keys from '@gatehouse/contract/keys';
import type * as tenants from '@gatehouse/contract/tenants';
import { keyPrefix } from '@gatehouse/identity/key-text';
import type { z } from 'zod';
import type { ApiKey } from '../keys/api-key.ts';
import { effectiveScopes } from '../keys/key-rules.ts';
import type { Tenant } from '../tenants/tenant.ts';

/** The wire shapes of API keys and tenants. */

export function showApiKey(key: ApiKey): keys.ApiKey {
  return {
    id: key.id,
    name: key.name,
    role: key.role,
    scopes: [...effectiveScopes(key.role, key.scopes)],
    user_id: key.userId,
    prefix: keyPrefix(key.keyId),
    status: key.status,
    limits: key.limits,
    budget: key.budget,
    created_by: key.createdBy,
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
  };
}

export function showOwnerApiKey(key: ApiKey): z.output<typeof keys.ownerApiKey> {
  return { ...showApiKey(key), tenant_id: key.tenantId };
}

export function showTenant(tenant: Tenant): tenants.Tenant {
  return {
    id: tenant.id,
    slug: tenant.slug,
    name: tenant.name,
    status: tenant.status,
    limits: isEmpty(tenant.memoryLimits) ? tenant.limits : { ...tenant.limits, memory: tenant.memoryLimits },
    budget: tenant.budget,
    allowed_models: tenant.allowedModels === null ? null : [...tenant.allowedModels],
    timezone: tenant.timezone,
    retention_days: tenant.retentionDays,
    previews: tenant.previews,
    created_at: tenant.createdAt.toISOString(),
    updated_at: tenant.updatedAt.toISOString(),
  };
}

function isEmpty(fields: object): boolean {
  return Object.keys(fields).length === 0;
}
