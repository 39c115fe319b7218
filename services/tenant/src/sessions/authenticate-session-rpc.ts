import type { Rpc } from '@gatehouse/grpc/rpc';
import type {
  AuthenticateSessionRequest,
  AuthenticateSessionResponse,
} from '@gatehouse/proto/tenant/v1/tenant';
import { effectiveScopes } from '../keys/key-rules.ts';
import type { LastUse } from '../keys/last-use.ts';
import type { SessionSystemStore } from './session-system-store.ts';

const sha256Bytes = 32;

export interface AuthenticateSessionDependencies {
  sessions: SessionSystemStore;
  lastUse: LastUse;
}

/** Checks a session by the hash of its token, as `Authenticate` checks a key. */
export function authenticateSession({
  sessions,
  lastUse,
}: AuthenticateSessionDependencies): Rpc<AuthenticateSessionRequest, AuthenticateSessionResponse> {
  return {
    callers: ['edge'],
    handle: async ({ tokenSha256 }) => {
      const isHash = tokenSha256.length === sha256Bytes;
      const [session] = isHash ? await sessions.find([tokenSha256.toString('hex')]) : [];
      if (session === undefined) return { key: undefined };
      if (session.lastSeenIsStale) lastUse.note(session.id);
      const { id, keyId, tenantId, tenantSlug, tenantStatus, role, scopes, userId, endsAt } = session;
      const key = {
        ...{ id: keyId, sessionId: id, role, scopes: [...effectiveScopes(role, scopes)] },
        ...{ tenantId: tenantId ?? '', tenantSlug: tenantSlug ?? '', tenantStatus: tenantStatus ?? '' },
        ...{ userId: userId ?? undefined, expiresAt: endsAt },
      };
      return { key };
    },
  };
}
