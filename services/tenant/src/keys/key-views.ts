import type { Change } from '@gatehouse/audited-changes/audit-entry';

import type { ApiKey } from './api-key.ts';
import type * as keys from '@gatehouse/contract/keys';
import { keyPrefix } from '@gatehouse/identity/key-text';
import { toolsetsOf, type Principal } from '@gatehouse/identity/principal';
import type { z } from 'zod';
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
    toolsets: key.toolsets && [...key.toolsets],
    client_settings: key.clientSettings,
    // No key is bound to an address, or issued to a program by OAuth.
    resource: null,
    client: null,
  };
}

export function showOwnerApiKey(key: ApiKey): z.output<typeof keys.ownerApiKey> {
  return { ...showApiKey(key), tenant_id: key.tenantId };
}

export function keyCreated(key: ApiKey): Change {
  const { id, tenantId } = key;
  return { action: 'api_key.created', id, tenantId, before: null, after: showOwnerApiKey(key) };
}

export function keyRotated(changed: Record<'before' | 'after', ApiKey>): Change {
  return keyChanged('api_key.rotated', changed);
}

export function keyUpdated(changed: Record<'before' | 'after', ApiKey>): Change {
  return keyChanged('api_key.updated', changed);
}

/** Empty when the key was revoked before. */
export function keyRevoked(changed: Record<'before' | 'after', ApiKey>): Change[] {
  return changed.before.revokedAt === null ? [keyChanged('api_key.revoked', changed)] : [];
}

function keyChanged(action: Change['action'], { before, after }: Record<'before' | 'after', ApiKey>): Change {
  const { id, tenantId } = after;
  return { action, id, tenantId, before: showOwnerApiKey(before), after: showOwnerApiKey(after) };
}

/** The caller, as the edge asserted it. */
export function showPrincipal(principal: Principal) {
  return {
    key_id: principal.keyId,
    tenant_id: principal.tenantId,
    tenant_slug: principal.tenantSlug,
    role: principal.role,
    scopes: principal.scopes,
    user_id: principal.boundUser,
    toolsets: toolsetsOf(principal),
    resource: null,
  };
}
