import type { TenantStatus } from '@gatehouse/contract/tenants';
import type { PageRequest } from '@gatehouse/kit/page';
import { Store } from '@gatehouse/pg/store';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { sessionLife } from '../bounds.ts';
import { hasItsKey } from '../keys/api-key-store.ts';
import { listSessionsOfKey, sessionColumns } from './session-store.ts';
import { type NamedSession, type Session } from './session.ts';

/** The logins of an hour are counted by them. */
export const oldSessions: OldRows = {
  ...{ table: 'tenant.sessions', key: 'id', skipLocked: true },
  where: `ends_at < now() - interval '1 hour'`,
};

/** A session as the edge needs it. */
export interface SessionToAuthenticate extends NamedSession {
  tenantStatus: TenantStatus | null;
  /** The end of the session, which this use puts off, or of its key's secret, whichever comes first. */
  endsAt: Date;
  /** Whether the last noted use is more than a minute ago. */
  lastSeenIsStale: boolean;
  /** Whether the tenant has users in its directory. */
  hasUsers: boolean;
  /** Those of its key. */
  toolsets: string[] | null;
}

/** A session with the hexadecimal hash of its token. */
export type StoredSession = SessionToAuthenticate & { tokenSha256: string };

/** Sessions of all tenants and of owners. `pool` acts as `tenant_system`. */
export class SessionSystemStore extends Store {
  /**
   * The open sessions with tokens of these hexadecimal hashes. A session ends with the revocation, expiry or rotation
   * of its key.
   */
  async find(tokens: readonly string[]): Promise<StoredSession[]> {
    return this.#find(
      'token_sha256',
      tokens.map((token) => Buffer.from(token, 'hex')),
      'bytea',
    );
  }

  /** Likewise by id. */
  async findById(id: string): Promise<NamedSession | null> {
    const [session = null] = await this.#find('id', [id], 'uuid');
    return session;
  }

  /** Sessions opened with a key, of whatever tenant or of an owner, newest first. */
  async listOfKey(keyId: string, page: PageRequest): Promise<Session[]> {
    return listSessionsOfKey(this.pool, keyId, page);
  }

  /** Notes uses, of each session once a minute at most, however many replicas call it. */
  async touch(ids: readonly string[]): Promise<void> {
    await this.pool.query({
      name: 'touch_sessions',
      text: `update tenant.sessions set last_seen_at = now(),
          ends_at = least(expires_at, now() + make_interval(mins => $2))
        where id = any(array(
          select id from tenant.sessions
          where id = any($1) and ends_at > now() and last_seen_at < now() - interval '1 minute'
          for update skip locked))`,
      values: [ids, sessionLife.idleMinutes],
    });
  }

  async #find(
    column: 'id' | 'token_sha256',
    values: readonly (string | Buffer)[],
    type: 'bytea' | 'uuid',
  ): Promise<StoredSession[]> {
    return this.pool.all<StoredSession>(
      `select ${sessionColumns}, encode(sessions.token_sha256, 'hex') as "tokenSha256", t.slug as "tenantSlug",
         api_keys.toolsets,
         t.status as "tenantStatus", least(
           case when sessions.last_seen_at < now() - interval '1 minute'
             then least(sessions.expires_at, now() + make_interval(mins => $2)) else sessions.ends_at end,
           api_keys.expires_at,
           case when api_keys.secret_sha256 <> sessions.key_secret_sha256 then api_keys.previous_valid_until end
         ) as "endsAt",
         sessions.last_seen_at < now() - interval '1 minute' as "lastSeenIsStale",
         exists (select from tenant.user_directories d where d.tenant_id = sessions.tenant_id) as "hasUsers"
       from tenant.sessions join tenant.api_keys on api_keys.id = sessions.key_id
         left join tenant.tenants t on t.id = sessions.tenant_id
       where sessions.${column} = any($1::${type}[]) and sessions.ends_at > now()
         and ${hasItsKey}`,
      [values, sessionLife.idleMinutes],
    );
  }
}
