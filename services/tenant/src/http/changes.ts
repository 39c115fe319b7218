import type { Change } from '@gatehouse/changes/audit-entry';
import type { Changed } from '@gatehouse/pg/pool';
import type { ApiKey } from '../keys/api-key.ts';
import type { Tenant } from '../tenants/tenant.ts';
import { showOwnerApiKey, showTenant } from './views.ts';

/** The changes of keys and tenants, for the audit log. */

export function keyCreated(key: ApiKey): Change {
  const { id, tenantId } = key;
  return { action: 'api_key.created', id, tenantId, before: null, after: showOwnerApiKey(key) };
}

export function keyRotated(changed: Changed<ApiKey>): Change {
  return keyChanged('api_key.rotated', changed);
}

/** Empty when the key was revoked before. */
export function keyRevoked(changed: Changed<ApiKey>): Change[] {
  return changed.before.revokedAt === null ? [keyChanged('api_key.revoked', changed)] : [];
}

function keyChanged(action: Change['action'], { before, after }: Changed<ApiKey>): Change {
  const { id, tenantId } = after;
  return { action, id, tenantId, before: showOwnerApiKey(before), after: showOwnerApiKey(after) };
}

export function tenantCreated(tenant: Tenant): Change {
  const { id } = tenant;
  return { action: 'tenant.created', id, tenantId: id, before: null, after: showTenant(tenant) };
}

export function tenantUpdated({ before, after }: Changed<Tenant>): Change {
  const { id } = after;
  return {
    action: 'tenant.updated',
    id,
    tenantId: id,
    before: showTenant(before),
    after: showTenant(after),
  };
}
