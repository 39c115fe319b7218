import { isKeyId } from '@gatehouse/identity/key-text';
import {
  Rejection,
  type AuthenticateRequest,
  type AuthenticateResponse,
  type RejectedKey,
} from '@gatehouse/proto/tenant/v1/tenant';
import type { Rpc } from '@gatehouse/grpc/rpc';
import { endOf, isCurrent, judge, type Verdict } from './authentication.ts';
import { effectiveScopes } from './key-rules.ts';
import type { LastUseWriter } from './last-use-writer.ts';
import type { KeyToAuthenticate } from './api-key-system-store.ts';
import type { Lookup } from './lookup.ts';

export interface AuthenticateDependencies {
  find: Lookup<KeyToAuthenticate>;
  lastUse: LastUseWriter;
  /** The first uses of secrets since a renewal. */
  firstUse: LastUseWriter;
}

/**
 * Checks a key by its id and the hash of its secret. An invalid key is a rejection in the answer; an error means that
 * the key could not be checked. The answer carries the tenant's status: the edge decides whether the tenant may act.
 */
export function authenticate({
  find,
  lastUse,
  firstUse,
}: AuthenticateDependencies): Rpc<AuthenticateRequest, AuthenticateResponse> {
  return {
    callers: ['edge'],
    handle: async ({ keyId, secretSha256, known }) => {
      const key = isKeyId(keyId) ? await find(keyId, known) : null;
      const verdict = judge(key, secretSha256);
      if (key === null || verdict !== 'accepted') {
        return {
          result: { $case: 'rejection', value: rejectionOf(verdict) },
          rejectedKey: rejectedKey(key, verdict),
        };
      }
      if (key.lastUseIsStale) lastUse.note(key.id);
      if (!key.secretUsed && isCurrent(key, secretSha256)) firstUse.note(key.id);
      return { result: { $case: 'key', value: showKey(key, endOf(key, secretSha256)) } };
    },
  };
}

function rejectionOf(verdict: Verdict): Rejection {
  if (verdict === 'revoked') return Rejection.REVOKED;
  return verdict === 'expired' ? Rejection.EXPIRED : Rejection.UNKNOWN;
}

/** The key of a tenant whose secret was right: its refused requests are counted. */
function rejectedKey(key: KeyToAuthenticate | null, verdict: Verdict): RejectedKey | undefined {
  if (key === null || key.tenantId === null || verdict === 'unknown') return undefined;
  return { id: key.confirmedBy ?? key.id, tenantId: key.tenantId };
}

function showKey(key: KeyToAuthenticate, end: Date | null) {
  return {
    // A program acts for the key of its confirming session: both share limits, budgets and the audit log.
    id: key.confirmedBy ?? key.id,
    tenantId: key.tenantId ?? '',
    tenantSlug: key.tenantSlug ?? '',
    tenantStatus: key.tenantStatus ?? '',
    role: key.role,
    scopes: [...effectiveScopes(key.role, key.scopes)],
    userId: key.userId ?? undefined,
    expiresAt: end ?? undefined,
    ...(key.confirmedBy !== null && { confirmed: true }),
    hasUsers: key.hasUsers,
    ...(key.toolsets !== null && { toolsets: { names: key.toolsets } }),
  };
}
