import type { TenantStatus } from '@gatehouse/contract/tenants';
import { Batched } from '@gatehouse/kit/batched';
import { AppError } from '@gatehouse/kit/errors';
import { retryAfterHeaders } from '@gatehouse/kit/retry-after';
import { withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { only } from '@gatehouse/pg/rows';
import type { Person } from '../keys/api-key.ts';
import { hasLoggedOut, holdLogouts } from './issuer-logout-statements.ts';
import { boundOwnKeys } from './login-statements.ts';
import { lookMinutes, mostLogins, type Login, type NewLogin, type TenantOfLogin } from './login.ts';
import { sessionLife } from './session.ts';

/** The state of a login, by its hexadecimal hash, and its end. */
interface UsedState {
  hash: string;
  expiresAt: Date;
}

/** Logins by issuers, before and after their tenant is known. */
export class LoginSystemStore {
  readonly #pool: Pool;
  /** Requests without a key, however many, take one connection. */
  readonly #states = new Batched((states: readonly UsedState[]) => this.#useStates(states));

  /** `pool` acts as `tenant_system`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /**
   * Inserts a login, and returns when. Null if the issuer has reported a logout of the person since it was begun. Throws
   * `rate_limit_exceeded` for a person who logs in too often.
   */
  async insert(login: NewLogin): Promise<Date | null> {
    return withTransaction(this.#pool, async (db) => {
      await lockPerson(db, login);
      await holdLogouts(db, login);
      if (await hasLoggedOut(db, login, login.begunAt)) return null;
      await assertFewLogins(db, login);
      await deleteSurplus(db, login);
      return insertLogin(db, login);
    });
  }

  /** The login that waits for a choice, made within the last ten minutes. */
  async findByChoice(issuer: string, choiceSha256: Buffer): Promise<Login | null> {
    const { rows } = await this.#pool.query<Login>(
      `select ${loginColumns} from tenant.logins
       where choice_sha256 = $1 and issuer = $2 and created_at > now() - interval '10 minutes'`,
      [choiceSha256, issuer],
    );
    return rows[0] ?? null;
  }

  async find(id: string): Promise<Login | null> {
    const { rows } = await this.#pool.query<Login>(
      `select ${loginColumns} from tenant.logins where id = $1`,
      [id],
    );
    return rows[0] ?? null;
  }

  /** Uses a choice up. False if it was used. */
  async useChoice(id: string): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      'update tenant.logins set choice_sha256 = null where id = $1 and choice_sha256 is not null',
      [id],
    );
    return rowCount === 1;
  }

  async endChoices({ iss, sub }: Person): Promise<void> {
    await this.#pool.query(
      `update tenant.logins set choice_sha256 = null where id = any(array(
         select id from tenant.logins where iss = $1 and sub = $2 and choice_sha256 is not null
         order by id for no key update))`,
      [iss, sub],
    );
  }

  /** Uses the state of a login up. False if it was used, on whatever replica, or has expired. */
  useState(stateSha256: Buffer, expiresAt: Date): Promise<boolean> {
    return this.#states.get({ hash: stateSha256.toString('hex'), expiresAt });
  }

  async #useStates(states: readonly UsedState[]): Promise<boolean[]> {
    const { rows } = await this.#pool.query<{ hash: string }>(
      `insert into tenant.used_tokens (token_sha256, expires_at)
       select distinct on (hash) decode(hash, 'hex'), expires_at
       from unnest($1::text[], $2::timestamptz[]) as states (hash, expires_at)
       where expires_at > now() order by hash
       on conflict do nothing returning encode(token_sha256, 'hex') as hash`,
      [states.map(({ hash }) => hash), states.map(({ expiresAt }) => expiresAt)],
    );
    const used = new Set(rows.map(({ hash }) => hash));
    // One of several in the same batch.
    return states.map(({ hash }) => used.delete(hash));
  }

  async now(): Promise<Date> {
    return only(await this.#pool.query<{ now: Date }>('select clock_timestamp() as now')).now;
  }

  /** The tenants with these ids or slugs. */
  async findTenants(ids: readonly string[], slugs: readonly string[]): Promise<TenantOfLogin[]> {
    const { rows } = await this.#pool.query<{ id: string; slug: string; status: TenantStatus }>(
      'select id, slug, status from tenant.tenants where id = any($1::uuid[]) or slug = any($2::text[])',
      [ids, slugs],
    );
    return rows;
  }

  /**
   * Deletes up to `limit` logins that are over, have no session and are looked at no more, and as many states and logouts;
   * returns the largest number. Own keys of people without another login live for `ownKeySeconds` from then on at most.
   */
  async deleteOld(limit: number, ownKeySeconds: number): Promise<number> {
    const logins = await withTransaction(this.#pool, async (db) => {
      const { rows } = await db.query<Person>(
        `delete from tenant.logins where id = any(array(
           select id from tenant.logins
           where expires_at < now() and look_at is null
             and not exists (select from tenant.sessions where login_id = logins.id)
           limit $1 for update skip locked))
         returning iss, sub`,
        [limit],
      );
      await boundOwnKeys(db, rows, ownKeySeconds);
      return rows.length;
    });
    const states = await this.#pool.query(
      `delete from tenant.used_tokens where token_sha256 = any(array(
         select token_sha256 from tenant.used_tokens where expires_at < now() limit $1))`,
      [limit],
    );
    // Much longer than a browser takes for a login and the choice of a tenant.
    const logouts = await this.#pool.query(
      `delete from tenant.issuer_logouts where id = any(array(
         select id from tenant.issuer_logouts where ended_at < now() - interval '1 hour' limit $1))`,
      [limit],
    );
    return Math.max(logins, states.rowCount ?? 0, logouts.rowCount ?? 0);
  }
}

const loginColumns = `
  id, issuer, iss, sub, sid, id_token as "idToken", refresh_token as "refreshToken", created_at as "createdAt"`;

/** Logins of a person wait for each other until the transaction ends, so that those at once don't pass their bound. */
async function lockPerson(db: Queryable, { iss, sub }: Person): Promise<void> {
  const name = `logins ${JSON.stringify([iss, sub])}`;
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}

async function assertFewLogins(db: Queryable, { iss, sub }: Person): Promise<void> {
  const counted = await db.query<{ count: number }>(
    `select count(*)::integer as count from tenant.logins
     where iss = $1 and sub = $2 and created_at > now() - interval '1 minute'`,
    [iss, sub],
  );
  if (only(counted).count < mostLogins.perMinute) return;
  throw new AppError(
    'rate_limit_exceeded',
    `A person logs in ${mostLogins.perMinute} times a minute at most.`,
    { headers: retryAfterHeaders(60_000) },
  );
}

/** Deletes the oldest logins of a person that no session, choice or look needs. */
async function deleteSurplus(db: Queryable, { iss, sub }: Person): Promise<void> {
  await db.query(
    `with surplus as (
       select id from tenant.logins
       where iss = $1 and sub = $2 and look_at is null and choice_sha256 is null
         and not exists (select from tenant.sessions where login_id = logins.id)
       order by id desc offset $3)
     delete from tenant.logins where id = any(array(
       select id from tenant.logins where id = any(array(select id from surplus)) for update skip locked))`,
    [iss, sub, mostLogins.kept],
  );
}

async function insertLogin(db: Queryable, login: NewLogin): Promise<Date> {
  const { id, issuer, iss, sub, sid, choiceSha256, idToken, refreshToken } = login;
  const inserted = await db.query<{ createdAt: Date }>(
    `insert into tenant.logins
       (id, issuer, iss, sub, sid, choice_sha256, id_token, refresh_token, expires_at, look_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, now() + make_interval(hours => $9, mins => 15),
       case when $8::bytea is not null then now() + make_interval(mins => $10) end)
     returning created_at as "createdAt"`,
    [
      ...[id, issuer, iss, sub, sid, choiceSha256, idToken, refreshToken, sessionLife.hours],
      lookMinutes.next,
    ],
  );
  return only(inserted).createdAt;
}
