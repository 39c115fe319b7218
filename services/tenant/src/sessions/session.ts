import type { Change, Circumstances } from '@gatehouse/audited-changes/audit-entry';
import type { CurrentSession, OpenedBy, Session as SessionView } from '@gatehouse/contract/sessions';
import type { Role, Scope } from '@gatehouse/contract/scopes';
import type { Person, ProgramRights } from '../keys/api-key.ts';

/** The values of a new session. It holds the hash of its token, never the token. */
export interface NewSession {
  id: string;
  /** Null for an owner. */
  tenantId: string | null;
  tokenSha256: Buffer;
  keyId: string;
  /** The hash of the presented secret. */
  keySecretSha256: Buffer;
  name: string;
  role: Role;
  scopes: readonly Scope[];
  userId: string | null;
  /** Its login by an issuer; null for a session by a key. */
  loginId: string | null;
  openedBy: OpenedBy;
}

/** A new session of a person, before its key is known. */
export interface PersonSession extends Omit<NewSession, 'keyId' | 'keySecretSha256'> {
  person: Person;
  /** The rights of programs by its key. */
  programRights: ProgramRights;
  /** The session at the issuer. */
  sid: string | null;
  /** When the login was stored: the issuer may have reported its end since. */
  loggedInAt: Date;
  /** For a key created for it. */
  keyName: string;
  createdBy: string;
  /** The groups in the claims of the person; null if they are unreadable. */
  groups: readonly string[] | null;
}

/** A stored session, without the hashes of its token and of the key's secret. */
export interface Session extends Omit<NewSession, 'tokenSha256' | 'keySecretSha256'> {
  createdAt: Date;
  lastSeenAt: Date;
  expiresAt: Date;
}

/** A stored session with the slug of its tenant. */
export interface NamedSession extends Session {
  tenantSlug: string | null;
}

/** The client that opens or ends a session. */
export type From = Pick<Circumstances, 'clientIp' | 'requestId'>;

export function showSession(session: Session): SessionView {
  const { id, keyId, name, role, scopes, userId, openedBy } = session;
  return {
    ...{ id, key_id: keyId, name, role, scopes: [...scopes], user_id: userId },
    opened_by: openedBy,
    created_at: session.createdAt.toISOString(),
    last_seen_at: session.lastSeenAt.toISOString(),
    expires_at: session.expiresAt.toISOString(),
  };
}

/** The session as its own browser sees it. */
export function showCurrent({
  userId,
  name,
  tenantSlug,
  role,
  scopes,
  expiresAt,
}: NamedSession): CurrentSession {
  return {
    ...{ user_id: userId, name, tenant: tenantSlug, role, scopes: [...scopes] },
    expires_at: expiresAt.toISOString(),
  };
}

/** The changes of sessions, for the audit log. */
export function sessionChange(action: 'session.created' | 'session.ended', session: Session): Change {
  const { id, tenantId } = session;
  const view = showSession(session);
  const isNew = action === 'session.created';
  return { action, id, tenantId, before: isNew ? null : view, after: isNew ? view : null };
}
