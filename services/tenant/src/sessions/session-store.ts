import type { PageRequest } from '@gatehouse/kit/page';
import { type Queryable, withTenant } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { sessionLife, mostSessions } from '../bounds.ts';
import { hasItsKey } from '../keys/api-key-store.ts';
import { type NewSession, type Session } from './session.ts';

/** The open sessions of one tenant at a time. `pool` acts as `tenant_app`. */
export class SessionStore extends Store {
  /** Sessions opened with a key, newest first, one more than `limit` when there are more. */
  async listOfKey(tenantId: string, keyId: string, page: PageRequest): Promise<Session[]> {
    return withTenant(this.pool, tenantId, (db) => listSessionsOfKey(db, keyId, page));
  }

  /** Newest first, one more than `limit` when there are more. */
  async list(tenantId: string, page: PageRequest): Promise<Session[]> {
    return this.tenant(tenantId).all<Session>(
      `select ${sessionColumns} from tenant.sessions
           cross join lateral (
             select from tenant.api_keys
             where id = sessions.key_id and ${hasItsKey} limit 1) as key
         where sessions.tenant_id = $1 and ($2::uuid is null or sessions.id < $2) and sessions.ends_at > now()
         order by sessions.id desc limit $3`,
      [tenantId, page.before, page.limit + 1],
    );
  }
}

/**
 * Statements on sessions. The role and the tenant of the connection decide which rows they reach. Changes of several
 * sessions lock them in the order of their ids.
 */

export const sessionColumns = `
  sessions.id, sessions.tenant_id as "tenantId", sessions.key_id as "keyId", sessions.name, sessions.role,
  sessions.scopes, sessions.user_id as "userId", sessions.login_id as "loginId",
  sessions.opened_by as "openedBy", sessions.created_at as "createdAt", sessions.last_seen_at as "lastSeenAt",
  sessions.expires_at as "expiresAt"`;

/** Logins of one tenant, or of owners, wait for each other until the transaction ends. */
export async function lockSessions(db: Queryable, tenantId: string | null): Promise<void> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`sessions ${tenantId ?? ''}`]);
}

/** The sessions opened by a key within a minute and within an hour. Ended ones are kept for longer. */
export async function countNewSessions(
  db: Queryable,
  keyId: string,
): Promise<{ lastMinute: number; lastHour: number }> {
  return db.one<{ lastMinute: number; lastHour: number }>(
    `select count(*) filter (where created_at > now() - interval '1 minute')::integer as "lastMinute",
            count(*)::integer as "lastHour"
     from tenant.sessions where key_id = $1 and created_at > now() - interval '1 hour'`,
    [keyId],
  );
}

/** Makes room for one more session of a key and of its tenant. Returns the ended sessions. */
export async function endOldestSessions(
  db: Queryable,
  { keyId, tenantId }: Pick<NewSession, 'keyId' | 'tenantId'>,
): Promise<Session[]> {
  return db.all<Session>(
    `with surplus as (
       (select id from tenant.sessions where key_id = $1 and ends_at > now() order by id desc offset $2)
       union
       (select id from tenant.sessions where tenant_id = $3 and ends_at > now() order by id desc offset $4))
     update tenant.sessions set ends_at = now() where id = any(array(
       select id from tenant.sessions where id = any(array(select id from surplus)) and ends_at > now()
       order by id for no key update))
     returning ${sessionColumns}`,
    [keyId, mostSessions.ofKey - 1, tenantId, mostSessions.ofTenant - 1],
  );
}

export async function insertSession(db: Queryable, session: NewSession): Promise<Session> {
  const { id, tenantId, tokenSha256, keyId, keySecretSha256, name, role, scopes, userId, loginId, openedBy } =
    session;
  return db.one<Session>(
    `insert into tenant.sessions
       (id, tenant_id, token_sha256, key_id, key_secret_sha256, name, role, scopes, user_id, login_id,
        expires_at, ends_at, opened_by)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now() + make_interval(hours => $11),
       now() + make_interval(mins => $12), $13)
     returning ${sessionColumns}`,
    [
      ...[id, tenantId, tokenSha256, keyId, keySecretSha256, name, role, scopes, userId, loginId],
      ...[sessionLife.hours, sessionLife.idleMinutes, openedBy],
    ],
  );
}

/** The open sessions of a key, newest first, one more than `limit` when there are more. */
export async function listSessionsOfKey(db: Queryable, keyId: string, page: PageRequest): Promise<Session[]> {
  return db.all<Session>(
    `select ${sessionColumns} from tenant.sessions join tenant.api_keys on api_keys.id = sessions.key_id
     where sessions.key_id = $1 and sessions.ends_at > now() and ($2::uuid is null or sessions.id < $2)
       and ${hasItsKey}
     order by sessions.id desc limit $3`,
    [keyId, page.before, page.limit + 1],
  );
}

/** Ends a session of a key. Null when it has ended, or is of another key. */
export async function endSessionOfKey(db: Queryable, id: string, keyId: string): Promise<Session | null> {
  return db.first<Session>(
    `update tenant.sessions set ends_at = now() where id = $1 and key_id = $2 and ends_at > now()
     returning ${sessionColumns}`,
    [id, keyId],
  );
}

/** Ends a session. Null when it has ended, or the connection doesn't reach it. */
export async function endSession(db: Queryable, id: string): Promise<Session | null> {
  return db.first<Session>(
    `update tenant.sessions set ends_at = now() where id = $1 and ends_at > now() returning ${sessionColumns}`,
    [id],
  );
}

/** Ends the open sessions of logins, and returns them. */
export async function endSessionsOfLogins(db: Queryable, loginIds: readonly string[]): Promise<Session[]> {
  return db.all<Session>(
    `update tenant.sessions set ends_at = now() where id = any(array(
       select id from tenant.sessions where login_id = any($1) and ends_at > now() order by id for no key update))
     returning ${sessionColumns}`,
    [loginIds],
  );
}
