import type { Queryable } from '@gatehouse/pg/pool';
import type { IssuerLogout } from '../issuers/logout-token.ts';
import type { Person } from '../keys/api-key.ts';
import type { ClosedLogin } from './login.ts';
import { insertRevocations } from './token-revocation-system-store.ts';

/** Statements that change several logins lock them in the order of their ids; those that delete them wait for none. */

/** Uses the id of a report up, for an hour. False if it was used, on whatever replica. */
export async function useReport(db: Queryable, sha256: Buffer): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into tenant.used_tokens (token_sha256, expires_at) values ($1, now() + interval '1 hour')
     on conflict do nothing`,
    [sha256],
  );
  return rowCount === 1;
}

/**
 * Ends the choices and looks of the logins that a logout names, and returns their people; a look under way is void. Some
 * issuers leave tokens for offline access in place (OpenID Connect Back-Channel Logout, 2.7), so these wait to be revoked.
 */
export async function closeLogins(db: Queryable, { iss, sub, sid }: IssuerLogout): Promise<ClosedLogin[]> {
  const named = await (sid === null
    ? db.query<ClosedLogin>(
        'select id, iss, sub from tenant.logins where iss = $1 and sub = $2 order by id for no key update',
        [iss, sub],
      )
    : db.query<ClosedLogin>(
        `select id, iss, sub from tenant.logins where iss = $1 and sid = $2 and sub = coalesce($3, sub)
         order by id for no key update`,
        [iss, sid, sub],
      ));
  const ids = named.rows.map(({ id }) => id);
  await db.query(
    insertRevocations(
      '(select id, issuer, iss, sub, refresh_token from tenant.logins where id = any($1::uuid[]) and look_at is not null)',
    ),
    [ids],
  );
  await db.query(
    `update tenant.logins set choice_sha256 = null, look_at = null, looks = looks + 1
     where id = any($1::uuid[])`,
    [ids],
  );
  return named.rows;
}

/**
 * Whether the person of the key `parent` has a login that the issuer is asked about, or one without a refresh token that
 * has not expired: such a login is never looked at, so that only a logout counts its looks.
 */
export const isLoggedIn = `exists (select from tenant.logins where iss = parent.iss and sub = parent.sub
  and case when refresh_token is null then looks = 0 and expires_at > now() else look_at is not null end)`;

/**
 * Makes own keys of those people who have no login left end after so many seconds at most: no issuer is asked about
 * these people any more. Sessions of the logins end before that, so that none makes a key after it.
 */
export async function boundPersonalKeys(
  db: Queryable,
  people: readonly Person[],
  seconds: number,
): Promise<void> {
  if (people.length === 0) return;
  // Creations of own keys lock these too. The next statement sees those keys, and logins that others have ended.
  const { rows } = await db.query<{ id: string }>(
    `select id from tenant.api_keys where id = any(array(
       select parent.id from unnest($1::text[], $2::text[]) as person (iss, sub)
         cross join lateral (select id from tenant.api_keys
           where iss = person.iss and sub = person.sub and revoked_at is null limit 1000) as parent))
     order by id for no key update`,
    [people.map(({ iss }) => iss), people.map(({ sub }) => sub)],
  );
  await db.query(
    `update tenant.api_keys set expires_at = now() + make_interval(secs => $2) where id = any(array(
       select own.id from tenant.api_keys parent join tenant.api_keys own on own.confirmed_by = parent.id
       where parent.id = any($1::uuid[]) and own.is_own and own.revoked_at is null
         and own.expires_at > now() + make_interval(secs => $2) and not ${isLoggedIn}
       order by own.id for no key update of own))`,
    [rows.map(({ id }) => id), seconds],
  );
}
