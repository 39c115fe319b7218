import type { TenantStatus } from '@gatehouse/contract/tenants';
import { AppError } from '@gatehouse/kit/errors';
import { inTenantOrder, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { sessionLife, lookMinutes, mostLogins } from '../bounds.ts';
import { turnOfPerson, type Person } from '../keys/api-key.ts';
import { hasLoggedOut, holdLogouts } from './login-store.ts';
import { type Login, type NamedTenants, type NewLogin, type TenantOfLogin } from './login.ts';

/**
 * Logins confirmed by an issuer, before and after their tenant is known. `pool` acts as `tenant_system`; people take
 * turns at it.
 */
export class LoginSystemStore extends Store {
  /**
   * Inserts a login, and returns when. Null if the issuer has reported a logout of the person since it was begun. Throws
   * `rate_limit_exceeded` for a person who logs in too often.
   */
  async insert(login: NewLogin): Promise<Date | null> {
    return inTenantOrder(this.pool, turnOfPerson(login), async (db) => {
      await lockPerson(db, login);
      await holdLogouts(db, login);
      if (await hasLoggedOut(db, login, login.begunAt)) return null;
      await assertFewLogins(db, login);
      await deleteSurplus(db, login);
      return insertLogin(db, login);
    });
  }

  find(id: string): Promise<Login | null> {
    return inTenantOrder(this.pool, id, (db) =>
      db.first<Login>(`select ${loginColumns} from tenant.logins where id = $1`, [id]),
    );
  }

  /** Uses a choice up. False if it was used. */
  useChoice(id: string): Promise<boolean> {
    return inTenantOrder(this.pool, id, (db) =>
      db.exists(
        `update tenant.logins set choice_sha256 = null, user_info = null
         where id = $1 and choice_sha256 is not null`,
        [id],
      ),
    );
  }

  async endChoices({ iss, sub }: Person): Promise<void> {
    await inTenantOrder(this.pool, turnOfPerson({ iss, sub }), (db) =>
      db.query(
        `update tenant.logins set choice_sha256 = null, user_info = null where id = any(array(
           select id from tenant.logins where iss = $1 and sub = $2 and choice_sha256 is not null
           order by id for no key update))`,
        [iss, sub],
      ),
    );
  }

  /** The tenants with these ids or slugs, which mappings give to a person. */
  findTenants(person: Person, { ids, slugs }: NamedTenants): Promise<TenantOfLogin[]> {
    return inTenantOrder(this.pool, turnOfPerson(person), (db) =>
      db.all<{ id: string; slug: string; status: TenantStatus }>(
        'select id, slug, status from tenant.tenants where id = any($1::uuid[]) or slug = any($2::text[])',
        [ids, slugs],
      ),
    );
  }
}

export const loginColumns = `
  id, issuer, iss, sub, sid, id_token as "idToken", refresh_token as "refreshToken",
  user_info as "userInfo", created_at as "createdAt"`;

/** Logins of a person wait for each other until the transaction ends: concurrent ones don't pass their bound. */
async function lockPerson(db: Queryable, { iss, sub }: Person): Promise<void> {
  const name = `logins ${JSON.stringify([iss, sub])}`;
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}

async function assertFewLogins(db: Queryable, { iss, sub }: Person): Promise<void> {
  const counted = await db.one<{ count: number }>(
    `select count(*)::integer as count from tenant.logins
     where iss = $1 and sub = $2 and created_at > now() - interval '1 minute'`,
    [iss, sub],
  );
  if (counted.count < mostLogins.perMinute) return;
  throw new AppError(
    'rate_limit_exceeded',
    `A person logs in ${mostLogins.perMinute} times a minute at most.`,
    { retryAfterMs: 60_000 },
  );
}

/** Deletes a person's oldest logins without a session, choice or revalidation that needs them. */
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
  const { id, issuer, iss, sub, sid, choiceSha256, idToken, refreshToken, userInfo } = login;
  return (
    await db.one<{ createdAt: Date }>(
      `insert into tenant.logins
       (id, issuer, iss, sub, sid, choice_sha256, id_token, refresh_token, expires_at, look_at, user_info)
     values ($1, $2, $3, $4, $5, $6, $7, $8, now() + make_interval(hours => $9, mins => 15),
       case when $8::bytea is not null then now() + make_interval(mins => $10) end, $11)
     returning created_at as "createdAt"`,
      [
        ...[id, issuer, iss, sub, sid, choiceSha256, idToken, refreshToken, sessionLife.hours],
        lookMinutes.next,
        userInfo,
      ],
    )
  ).createdAt;
}
