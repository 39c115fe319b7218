import type { Rpc } from '@gatehouse/grpc/rpc';
import type {
  AuthenticateSessionRequest,
  AuthenticateSessionResponse,
} from '@gatehouse/proto/tenant/v1/tenant';
import { effectiveScopes } from '../keys/key-rules.ts';
import type { LastUseWriter } from '../keys/last-use-writer.ts';
import type { Lookup } from '../keys/lookup.ts';
import type { StoredSession } from './session-system-store.ts';

const sha256Bytes = 32;

export interface AuthenticateSessionDependencies {
  find: Lookup<StoredSession>;
  lastUse: LastUseWriter;
}

/** Checks a session by the hash of its token, as `Authenticate` checks a key. */
export function authenticateSession({
  find,
  lastUse,
}: AuthenticateSessionDependencies): Rpc<AuthenticateSessionRequest, AuthenticateSessionResponse> {
  return {
    callers: ['edge'],
    handle: async ({ tokenSha256, known }) => {
      const isHash = tokenSha256.length === sha256Bytes;
      const session = isHash ? await find(tokenSha256.toString('hex'), known) : null;
      if (session === null) return { key: undefined };
      if (session.lastSeenIsStale) lastUse.note(session.id);
      const { id, keyId, tenantId, tenantSlug, tenantStatus, role, scopes, userId, endsAt } = session;
      const key = {
        ...{ id: keyId, sessionId: id, role, scopes: [...effectiveScopes(role, scopes)] },
        ...{ tenantId: tenantId ?? '', tenantSlug: tenantSlug ?? '', tenantStatus: tenantStatus ?? '' },
        ...{ userId: userId ?? undefined, expiresAt: endsAt },
        hasUsers: session.hasUsers,
        ...(session.toolsets !== null && { toolsets: { names: session.toolsets } }),
      };
      return { key };
    },
  };
}
