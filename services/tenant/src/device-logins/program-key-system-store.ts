import type { Role } from '@gatehouse/contract/scopes';
import type { TenantStatus } from '@gatehouse/contract/tenants';
import { type Changed, type Queryable, inTenantOrder, type Pool } from '@gatehouse/pg/pool';
import {
  mostKeysOfKey,
  renewalOverlapSeconds,
  mostReplacedTexts,
  longestRenewalDays,
  leastRenewalSeconds,
} from '../bounds.ts';
import type { ApiKey } from '../keys/api-key.ts';
import { apiKeyColumns, hasItsKey, lockApiKey, revokeApiKey } from '../keys/api-key-store.ts';
import { isLoggedIn } from '../sessions/login-store.ts';
import { auditEntryOf, type Change, type Circumstances } from '@gatehouse/audited-changes/audit-entry';
import type { RecordChange } from '@gatehouse/audited-changes/changes';
import { batchedFinder } from '@gatehouse/kit/batched';
import { AppError, assertTenantActive } from '@gatehouse/kit/errors';
import { Store } from '@gatehouse/pg/store';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { hourMs } from '@gatehouse/kit/bounds';
import { keyCreated, keyRevoked, keyRotated } from '../keys/key-views.ts';
import type { From } from '../sessions/session.ts';
import { bySystem } from '../by-system.ts';

export const oldProgramKeys: OldRows = {
  ...{ table: 'tenant.api_keys', key: 'id', skipLocked: true, everyMs: hourMs },
  where: `confirmed_by is not null and expires_at < now() - interval '30 days'`,
};

/** A key or login, with its tenant; null for owners. */
interface TenantProgramKey {
  id: string;
  tenantId: string | null;
}

type Actor = Pick<Circumstances, 'actor' | 'tenantId'>;

/** Program keys given by people, of all tenants and of owners, with their entries in the audit log. */
export class ProgramKeySystemStore extends Store {
  readonly #record: RecordChange;
  readonly #findReplaced = batchedFinder(
    (texts) =>
      findReplaced(
        this.pool,
        texts.map((text) => ({ id: text.slice(0, 36), hash: text.slice(37) })),
      ),
    ({ id, hash }) => `${id} ${hash}`,
  );

  /** `pool` acts as `tenant_system`. */
  constructor(pool: Pool, record: RecordChange) {
    super(pool);
    this.#record = record;
  }

  /**
   * Makes the key of an allowed login, once. Null when it was made, or the login or the key of its session has ended.
   * Throws `tenant_suspended`.
   */
  async issue(login: TenantProgramKey, key: NewProgramKey, from: From): Promise<ProgramKey | null> {
    return this.#inTenantOrder(login, async (db) => {
      const confirmation = await takeConfirmation(db, login.id);
      if (confirmation === null) return null;
      assertTenantActive(confirmation.tenantStatus);
      const ended = await endOldestProgramKeys(db, confirmation.keyId);
      const made = await insertProgramKey(db, key, confirmation);
      if (made === null) return null;
      await this.#note(db, [...ended.flatMap(keyRevoked), keyCreated(made)], actorOf(made), from);
      return made;
    });
  }

  /**
   * Renews the key of a program. `presentedSha256` is the hash of its present secret or of an earlier one. Null when
   * the key, or the key of its confirming session, has ended. An already renewed secret ends the key: the client or a
   * thief has a later one. Throws `tenant_suspended`, and `rate_limit_exceeded` for a recently renewed key.
   */
  async renew(
    key: Omit<NewProgramKey, 'keyId'> & TenantProgramKey,
    presentedSha256: Buffer,
    from: From,
  ): Promise<ProgramKey | 'reused' | null> {
    return this.#inTenantOrder(key, async (db) => {
      // In the order in which a revocation locks them.
      const confirming = await lockConfirmingKey(db, key.id);
      if (confirming === null) return null;
      assertTenantActive(confirming.tenantStatus);
      if (await isReused(db, key.id, presentedSha256)) {
        await this.#revoke(db, key.id, from, bySystem.actor);
        return 'reused';
      }
      if (await wasRenewedLately(db, key.id))
        throw new AppError('rate_limit_exceeded', 'A key is renewed once a minute at most.', {
          retryAfterMs: leastRenewalSeconds * 1_000,
        });
      const changed = await renewProgramKey(db, key, presentedSha256);
      if (changed === null) return null;
      await this.#note(db, [keyRotated(changed)], actorOf(changed.after), from);
      return changed.after;
    });
  }

  async revoke(key: TenantProgramKey, from: From): Promise<void> {
    await this.#inTenantOrder(key, (db) => this.#revoke(db, key.id, from));
  }

  /**
   * Whether the key of a program had a secret before a renewal. One statement for all queries that arrive meanwhile.
   */
  async wasReplaced(id: string, secretSha256: Buffer): Promise<boolean> {
    return (await this.#findReplaced(`${id} ${secretSha256.toString('hex')}`)) !== null;
  }

  /** A valid key may be sent any number of times, so tenants take turns. */
  #inTenantOrder<Result>(
    { tenantId }: TenantProgramKey,
    work: (db: Queryable) => Promise<Result>,
  ): Promise<Result> {
    return inTenantOrder(this.pool, tenantId ?? 'owners', work);
  }

  /** `actor`: by default, the key of the confirming session. */
  async #revoke(db: Queryable, id: string, from: From, actor?: Circumstances['actor']): Promise<void> {
    const changed = await revokeApiKey(db, id);
    if (changed === null) return;
    const by = actor === undefined ? actorOf(changed.after) : { actor, tenantId: changed.after.tenantId };
    await this.#note(db, keyRevoked(changed), by, from);
  }

  async #note(db: Queryable, changes: readonly Change[], actor: Actor, from: From): Promise<void> {
    for (const change of changes) await this.#record(db, auditEntryOf(change, { ...from, ...actor }));
  }
}

/** The key of the session that confirmed the program's key. */
function actorOf({ createdBy, tenantId, role, userId }: ApiKey): Actor {
  return { tenantId, actor: { key_id: createdBy, role, user_id: userId } };
}

/** The session in which a person allowed a login, and its key. */
interface Confirmation {
  sessionId: string;
  clientId: string;
  keyId: string;
  tenantId: string | null;
  tenantStatus: TenantStatus | null;
  role: Role;
  userId: string | null;
}

/** A key of a program, with the seconds until its end. */
export interface ProgramKey extends ApiKey {
  expiresInS: number;
}

const programKeyColumns = `${apiKeyColumns},
  greatest(floor(extract(epoch from api_keys.expires_at - now())), 0)::integer as "expiresInS"`;

export interface NewProgramKey {
  id: string;
  keyId: string;
  secretSha256: Buffer;
  ttlSeconds: number;
}

/**
 * Uses an allowed login up, and locks the key of its session against a revocation. Null when the login was used or has
 * expired, when the session or its key has ended, and for a key that was itself confirmed.
 */
async function takeConfirmation(db: Queryable, loginId: string): Promise<Confirmation | null> {
  const login = await db.first<{ sessionId: string; clientId: string }>(
    `delete from tenant.device_logins where id = $1 and session_id is not null and expires_at > now()
     returning session_id as "sessionId", client_id as "clientId"`,
    [loginId],
  );
  if (login === null) return null;
  const confirmation = await db.first<Omit<Confirmation, 'sessionId' | 'clientId'>>(
    `select api_keys.id as "keyId", sessions.tenant_id as "tenantId", t.status as "tenantStatus", sessions.role,
       sessions.user_id as "userId"
     from tenant.sessions join tenant.api_keys on api_keys.id = sessions.key_id
       left join tenant.tenants t on t.id = sessions.tenant_id
     where sessions.id = $1 and sessions.ends_at > now() and ${hasItsKey} and api_keys.confirmed_by is null
     for no key update of api_keys`,
    [login.sessionId],
  );
  return confirmation && { ...login, ...confirmation };
}

/** Makes room for one more key of a program. Returns the ended keys, as they were. */
async function endOldestProgramKeys(db: Queryable, keyId: string): Promise<Changed<ApiKey>[]> {
  const oldest = await db.all<ApiKey>(
    `select ${apiKeyColumns} from tenant.api_keys
     where confirmed_by = $1 and not is_own and tenant.api_key_status(api_keys) in ('active', 'expiring')
     order by id desc offset $2`,
    [keyId, mostKeysOfKey - 1],
  );
  if (oldest.length === 0) return [];
  const rows = await db.all<ApiKey>(
    `update tenant.api_keys set revoked_at = now() where id = any($1) returning ${apiKeyColumns}`,
    [oldest.map(({ id }) => id)],
  );
  const ended = new Map(rows.map((row) => [row.id, row]));
  return oldest.flatMap((before) => {
    const after = ended.get(before.id);
    return after === undefined ? [] : [{ before, after }];
  });
}

/**
 * Inserts a key with the rights of a session, for the user whom the directory has under the name of its login. It ends
 * with the session's key if that comes first.
 */
async function insertProgramKey(
  db: Queryable,
  { id, keyId, secretSha256, ttlSeconds }: NewProgramKey,
  { sessionId, clientId }: Pick<Confirmation, 'sessionId' | 'clientId'>,
): Promise<ProgramKey | null> {
  return db.first<ProgramKey>(
    `insert into tenant.api_keys (id, tenant_id, key_id, secret_sha256, name, role, scopes, user_id, expires_at,
       created_by, confirmed_by, confirmed_secret_sha256, toolsets, client_settings)
     select $1::uuid, sessions.tenant_id, $2::text, $3::bytea,
       left(sessions.name || ' (program ' || $4::text || ')', 200), sessions.role, sessions.scopes,
       coalesce(known.user_id, sessions.user_id), ${endOf('sessions.key_secret_sha256', '$5::int')},
       parent.id::text, parent.id, sessions.key_secret_sha256, parent.toolsets, parent.client_settings
     from tenant.sessions join tenant.api_keys parent on parent.id = sessions.key_id
       left join lateral (
         select u.user_id from tenant.user_names n join tenant.users u on u.id = n.person_id
         where n.tenant_id = sessions.tenant_id and n.folded = lower(sessions.user_id)) as known on true
     where sessions.id = $6
     returning ${programKeyColumns}`,
    [id, keyId, secretSha256, clientId, ttlSeconds, sessionId],
  );
}

/**
 * Locks the key of the session that confirmed a program's key; returns the status of its tenant. Null when it has ended
 * or no longer has the session's secret, and for a person's key after the end of their logins.
 */
async function lockConfirmingKey(
  db: Queryable,
  id: string,
): Promise<Pick<Confirmation, 'tenantStatus'> | null> {
  return db.first<Pick<Confirmation, 'tenantStatus'>>(
    `select t.status as "tenantStatus"
     from tenant.api_keys k join tenant.api_keys parent on parent.id = k.confirmed_by
       left join tenant.tenants t on t.id = k.tenant_id
     where k.id = $1 and ${stands('k.confirmed_secret_sha256')} and (parent.iss is null or ${isLoggedIn})
     for no key update of parent`,
    [id],
  );
}

/**
 * Whether the key of a program had this secret before a renewal, and its client has a later one. A client without an
 * answer repeats with the secret before, until the sent one is used; programs that renew at once have a minute.
 */
async function isReused(db: Queryable, id: string, presentedSha256: Buffer): Promise<boolean> {
  return db.exists(
    `select from tenant.api_keys
     where id = $1 and $2 = any(replaced_sha256) and not coalesce(previous_secret_sha256 = $2
       and previous_valid_until > now() + make_interval(secs => case when secret_used then $3::int else 0 end), false)`,
    [id, presentedSha256, renewalOverlapSeconds - leastRenewalSeconds],
  );
}

/** Finds the secrets of keys before a renewal, by key and hexadecimal hash. */
async function findReplaced(
  db: Queryable,
  texts: readonly { id: string; hash: string }[],
): Promise<{ id: string; hash: string }[]> {
  return db.all<{ id: string; hash: string }>(
    `select given.id, given.hash from unnest($1::uuid[], $2::text[]) as given (id, hash)
       cross join lateral (select from tenant.api_keys
         where id = given.id and decode(given.hash, 'hex') = any(replaced_sha256) limit 1) as key`,
    [texts.map(({ id }) => id), texts.map(({ hash }) => hash)],
  );
}

/**
 * Whether the key of a program was renewed lately. Call it after locking the confirming key: others may wait for the
 * lock.
 */
async function wasRenewedLately(db: Queryable, id: string): Promise<boolean> {
  // The other transaction may have begun later.
  return db.exists(
    `select from tenant.api_keys where id = $1 and previous_valid_until
       between now() + make_interval(secs => $2::int - $3::int) and now() + make_interval(secs => $2::int + $3::int)`,
    [id, renewalOverlapSeconds, leastRenewalSeconds],
  );
}

/**
 * Gives the key of a program a new secret and its whole lifetime again, up to a month in all. The secret before stays
 * valid for the overlap. Null when the key has ended, or has no secret with the hash `givenSha256` any more.
 */
async function renewProgramKey(
  db: Queryable,
  { id, secretSha256, ttlSeconds }: Omit<NewProgramKey, 'keyId'>,
  presentedSha256: Buffer,
): Promise<{ before: ApiKey; after: ProgramKey } | null> {
  const before = await lockApiKey(db, id);
  if (before === null) return null;
  const after = await db.first<ProgramKey>(
    `update tenant.api_keys set secret_sha256 = $2, previous_secret_sha256 = api_keys.secret_sha256,
       previous_valid_until = now() + make_interval(secs => $3), secret_used = false,
       replaced_sha256 = (api_keys.replaced_sha256 || api_keys.secret_sha256)
         [greatest(cardinality(api_keys.replaced_sha256) + 2 - $7::int, 1):],
       expires_at = least(api_keys.created_at + make_interval(days => $6),
         ${endOf('api_keys.confirmed_secret_sha256', '$4::int')})
     from tenant.api_keys parent
     where api_keys.id = $1 and parent.id = api_keys.confirmed_by and not api_keys.is_own
       and tenant.api_key_status(api_keys) in ('active', 'expiring')
       and (api_keys.secret_sha256 = $5
         or (api_keys.previous_secret_sha256 = $5 and api_keys.previous_valid_until > now()))
     returning ${programKeyColumns}`,
    [
      id,
      secretSha256,
      renewalOverlapSeconds,
      ttlSeconds,
      presentedSha256,
      longestRenewalDays,
      mostReplacedTexts,
    ],
  );
  return after && { before, after };
}

/** Whether the key `parent` is active and has this secret. */
function stands(secret: string): string {
  return `tenant.api_key_status(parent) in ('active', 'expiring') and (parent.secret_sha256 = ${secret}
    or (parent.previous_secret_sha256 = ${secret} and parent.previous_valid_until > now()))`;
}

/** The end of a key with this lifetime, at the latest that of this secret of the key `parent`. */
function endOf(secret: string, ttlSeconds: string): string {
  return `least(now() + make_interval(secs => ${ttlSeconds}), parent.expires_at,
    case when parent.secret_sha256 <> ${secret} then parent.previous_valid_until end)`;
}
