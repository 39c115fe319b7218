import type { Change } from '@gatehouse/audited-changes/audit-entry';

import type { ApiKey } from './api-key.ts';
import { showOwnerApiKey } from './key-views.ts';

/** The changes of keys, for the audit log. */

export function keyCreated(key: ApiKey): Change {
  const { id, tenantId } = key;
  return { action: 'api_key.created', id, tenantId, before: null, after: showOwnerApiKey(key) };
}

export function keyRotated(changed: Record<'before' | 'after', ApiKey>): Change {
  return keyChanged('api_key.rotated', changed);
}

/** Empty when the key was revoked before. */
export function keyRevoked(changed: Record<'before' | 'after', ApiKey>): Change[] {
  return changed.before.revokedAt === null ? [keyChanged('api_key.revoked', changed)] : [];
}

function keyChanged(action: Change['action'], { before, after }: Record<'before' | 'after', ApiKey>): Change {
  const { id, tenantId } = after;
  return { action, id, tenantId, before: showOwnerApiKey(before), after: showOwnerApiKey(after) };
}
