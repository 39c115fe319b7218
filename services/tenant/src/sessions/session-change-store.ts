import { hash } from 'node:crypto';
import { auditEntryOf, type Circumstances } from '@gatehouse/audited-changes/audit-entry';
import type { RecordChange } from '@gatehouse/audited-changes/changes';
import { networkOf } from '@gatehouse/kit/client-network';
import { AppError } from '@gatehouse/kit/errors';
import { inTenantOrder, withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { mostLoginsOfKey } from '../bounds.ts';
import type { IssuerLogout } from '../issuers/issuer.ts';
import type { LoginUser, RevalidatedUser } from '../users/login-user-store.ts';
import { findLoginKeys, holdScopes, insertApiKey } from '../keys/api-key-store.ts';
import { keyCreated } from '../keys/key-views.ts';
import { newApiKey, haveSameRights, type Rights } from '../keys/api-key.ts';
import {
  hasLoggedOut,
  holdLogouts,
  noteLogout,
  boundPersonalKeys,
  closeLogins,
  useReport,
} from './login-store.ts';
import type { ClosedLogin } from './login.ts';
import {
  countNewSessions,
  endOldestSessions,
  endSession,
  endSessionsOfLogins,
  insertSession,
  lockSessions,
} from './session-store.ts';
import { sessionChange, type From, type NewSession, type PersonSession, type Session } from './session.ts';

export interface SessionChangeOptions {
  /** Pools of `tenant_app` and `tenant_system`, at which tenants take turns. */
  app: Pool;
  proved: Pool;
  record: RecordChange;
  /** How long own keys of a person live after the last login at most. */
  deviceKeySeconds: number;
  /** Notes a successful login of a network. Returns at once. */
  noteNetwork: (network: string) => void;
  /** Writes the user of a login. Throws `user_blocked`. */
  noteLogin: (db: Queryable, user: LoginUser) => Promise<void>;
  /** Writes the groups of a revalidated login, if the directory has its user. */
  noteRevalidation: (db: Queryable, user: RevalidatedUser) => Promise<void>;
  /** Throws `user_blocked`. */
  assertActiveUser: (db: Queryable, user: Pick<LoginUser, 'tenantId' | 'userId'>) => Promise<void>;
}

/** Opens and ends sessions of those who have proved a key, a login or a session, with their entries in the audit log. */
export class SessionChangeStore {
  readonly #options: SessionChangeOptions;

  constructor(options: SessionChangeOptions) {
    this.#options = options;
  }

  /** Throws `rate_limit_exceeded` if the key was used for too many logins, and `user_blocked`. */
  async open(session: NewSession, from: From): Promise<Session> {
    const { tenantId, userId } = session;
    const opened = await this.#change(tenantId, async (db) => {
      await lockSessions(db, tenantId);
      if (tenantId !== null && userId !== null)
        await this.#options.assertActiveUser(db, { tenantId, userId });
      return this.#open(db, session, from);
    });
    this.#noteNetwork(from);
    return opened;
  }

  /**
   * Opens a session of a person with the person's key in the tenant, or with a new one of the given rights. Null if the
   * issuer has reported a logout of the person since the login. Throws `rate_limit_exceeded` likewise, and `user_blocked`.
   */
  async openForPerson(
    { person, programRights, sid, loggedInAt, keyName, createdBy, groups, ...login }: PersonSession,
    from: From,
  ): Promise<Session | null> {
    const { tenantId, role, scopes, userId, name: displayName } = login;
    const opened = await this.#change(tenantId, async (db) => {
      await lockSessions(db, tenantId);
      await holdLogouts(db, { ...person, sid });
      if (await hasLoggedOut(db, { ...person, sid }, loggedInAt)) return null;
      if (tenantId !== null && userId !== null)
        await this.#options.noteLogin(db, { tenantId, userId, displayName, groups });
      const rights = { tenantId, role, scopes, userId, ...programRights };
      const key = await this.#keyOf(db, { person, rights, keyName, createdBy }, from);
      return this.#open(db, { ...login, keyId: key.id, keySecretSha256: key.secretSha256 }, from);
    });
    if (opened !== null) this.#noteNetwork(from);
    return opened;
  }

  /** Writes the groups of a revalidated login, for the person's user in each tenant. */
  async noteRevalidation(users: readonly RevalidatedUser[]): Promise<void> {
    for (const user of users)
      await this.#change(user.tenantId, (db) => this.#options.noteRevalidation(db, user));
  }

  /** Ends the session of a browser. */
  async end({ id, tenantId }: Pick<Session, 'id' | 'tenantId'>, from: From): Promise<void> {
    await this.#change(tenantId, async (db) => {
      const ended = await endSession(db, id);
      await this.#recordEnds(db, ended === null ? [] : [ended], from);
    });
  }

  /** Ends the sessions of logins, in all tenants: the issuer no longer confirms them. */
  async endOfLogins(loginIds: readonly string[], from: From): Promise<void> {
    await inTenantOrder(this.#options.proved, 'issuers', async (db) => {
      await this.#recordEnds(db, await endSessionsOfLogins(db, loginIds), from);
    });
  }

  /**
   * Ends the sessions of a logout reported by an issuer, bounds the own keys of people without another login, and
   * returns the closed logins. Null for a used report, on whatever replica.
   */
  async endAtIssuer(logout: IssuerLogout, from: From): Promise<ClosedLogin[] | null> {
    return inTenantOrder(this.#options.proved, logout.iss, async (db) => {
      if (!(await useReport(db, hash('sha256', `${logout.iss} ${logout.jti}`, 'buffer')))) return null;
      await noteLogout(db, logout);
      const closed = await closeLogins(db, logout);
      const ids = closed.map(({ id }) => id);
      await this.#recordEnds(db, await endSessionsOfLogins(db, ids), from);
      await boundPersonalKeys(db, closed, this.#options.deviceKeySeconds);
      return closed;
    });
  }

  #noteNetwork({ clientIp }: From): void {
    if (clientIp !== null) this.#options.noteNetwork(networkOf(clientIp));
  }

  async #recordEnds(db: Queryable, ended: readonly Session[], from: From): Promise<void> {
    for (const session of ended) {
      const by = circumstancesOf(session, from);
      await this.#options.record(db, auditEntryOf(sessionChange('session.ended', session), by));
    }
  }

  async #open(db: Queryable, session: NewSession, from: From): Promise<Session> {
    // Locked before its sessions, as a change of the key does.
    const scopes = await holdScopes(db, session.keyId, session.scopes);
    assertFewLogins(await countNewSessions(db, session.keyId));
    const by = circumstancesOf(session, from);
    for (const ended of await endOldestSessions(db, session))
      await this.#options.record(db, auditEntryOf(sessionChange('session.ended', ended), by));
    const opened = await insertSession(db, { ...session, scopes });
    await this.#options.record(db, auditEntryOf(sessionChange('session.created', opened), by));
    return opened;
  }

  async #keyOf(
    db: Queryable,
    {
      person,
      rights,
      keyName,
      createdBy,
    }: Pick<PersonSession, 'person' | 'keyName' | 'createdBy'> & { rights: Rights },
    from: From,
  ): Promise<{ id: string; secretSha256: Buffer }> {
    const known = (await findLoginKeys(db, person)).find((key) => haveSameRights(key, rights));
    if (known !== undefined) return known;
    // The text of the key is thrown away: no request can have it.
    const made = newApiKey({ name: keyName, createdBy, person, ...rights }).key;
    const key = await insertApiKey(db, made);
    const by = circumstancesOf({ ...rights, keyId: key.id }, from);
    await this.#options.record(db, auditEntryOf(keyCreated(key), by));
    return made;
  }

  #change<Result>(tenantId: string | null, work: (db: Queryable) => Promise<Result>): Promise<Result> {
    const { app, proved } = this.#options;
    return tenantId === null ? inTenantOrder(proved, 'owners', work) : withTenant(app, tenantId, work);
  }
}

/** A key can't fill the audit log, nor hide a login among too many others. */
function assertFewLogins({ lastMinute, lastHour }: { lastMinute: number; lastHour: number }): void {
  const { perMinute, perHour } = mostLoginsOfKey;
  if (lastMinute < perMinute && lastHour < perHour) return;
  throw new AppError(
    'rate_limit_exceeded',
    `A key logs in ${perMinute} times a minute and ${perHour} times an hour at most.`,
    { retryAfterMs: lastHour < perHour ? 60_000 : 600_000 },
  );
}

function circumstancesOf(
  { keyId, role, userId, tenantId }: Pick<NewSession, 'keyId' | 'role' | 'userId' | 'tenantId'>,
  from: From,
): Circumstances {
  return { ...from, tenantId, actor: { key_id: keyId, role, user_id: userId } };
}
