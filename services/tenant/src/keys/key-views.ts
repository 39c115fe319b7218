import type * as keys from '@gatehouse/contract/keys';
import { keyPrefix } from '@gatehouse/identity/key-text';
import type { z } from 'zod';
import type { ApiKey } from './api-key.ts';
import { effectiveScopes } from './key-rules.ts';

/** The wire shapes of API keys. */

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
