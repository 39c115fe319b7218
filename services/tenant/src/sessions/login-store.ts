import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import type { IssuerLogout } from '../issuers/issuer.ts';
import type { Person } from '../keys/api-key.ts';
import type { ClosedLogin } from './login.ts';
import { insertRevocations } from './token-revocation-system-store.ts';

/** Changes of several logins lock them in the order of their ids; deletions wait for no lock. */

/** Uses the id of a report up, for an hour. False if it was used, on whatever replica. */
export async function useReport(db: Queryable, sha256: Buffer): Promise<boolean> {
  return db.exists(
    `insert into tenant.used_tokens (token_sha256, expires_at) values ($1, now() + interval '1 hour')
     on conflict do nothing`,
    [sha256],
  );
}

/**
 * Ends the choices and revalidations of the logins named by a logout, and returns their people; a revalidation under
 * way is void. Some issuers leave tokens for offline access in place (OpenID Connect Back-Channel Logout, 2.7), so
 * these wait to be revoked.
 */
export async function closeLogins(db: Queryable, { iss, sub, sid }: IssuerLogout): Promise<ClosedLogin[]> {
  const named = await (sid === null
    ? db.all<ClosedLogin>(
        'select id, iss, sub from tenant.logins where iss = $1 and sub = $2 order by id for no key update',
        [iss, sub],
      )
    : db.all<ClosedLogin>(
        `select id, iss, sub from tenant.logins where iss = $1 and sid = $2 and sub = coalesce($3, sub)
         order by id for no key update`,
        [iss, sid, sub],
      ));
  const ids = named.map(({ id }) => id);
  await db.query(
    insertRevocations(
      '(select id, issuer, iss, sub, refresh_token from tenant.logins where id = any($1::uuid[]) and look_at is not null)',
    ),
    [ids],
  );
  await db.query(
    `update tenant.logins set choice_sha256 = null, user_info = null, look_at = null, looks = looks + 1
     where id = any($1::uuid[])`,
    [ids],
  );
  return named;
}

/**
 * Whether the person of the key `parent` has a login with revalidations, or an unexpired one without a refresh token:
 * the latter is never revalidated, and only a logout counts its looks.
 */
export const isLoggedIn = `exists (select from tenant.logins where iss = parent.iss and sub = parent.sub
  and case when refresh_token is null then looks = 0 and expires_at > now() else look_at is not null end)`;

/**
 * Makes own keys of people without a login end after so many seconds at most: no issuer is asked about these people any
 * more. Sessions of the logins end before, and make no key afterwards.
 */
export async function boundPersonalKeys(
  db: Queryable,
  people: readonly Person[],
  seconds: number,
): Promise<void> {
  if (people.length === 0) return;
  // Creations of own keys lock these too. The next statement sees those keys, and logins ended by others.
  const rows = await db.all<{ id: string }>(
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

/** Statements on logouts reported by issuers, and on logins under way meanwhile. */

/** A person in a session at an issuer. */
export interface PersonAtIssuer {
  iss: string;
  sub: string;
  sid: string | null;
}

/**
 * Makes logouts of the person, and of the session, wait until the transaction ends, or waits for an earlier one: either
 * this transaction sees the logout, or the logout sees the writes of this transaction. From then on, a transaction of a
 * tenant sees the logouts of this person.
 */
export async function holdLogouts(db: Queryable, { iss, sub, sid }: PersonAtIssuer): Promise<void> {
  const names = [lockName(iss, { sub }), ...(sid === null ? [] : [lockName(iss, { sid })])];
  await db.query(
    `select pg_advisory_xact_lock_shared(hashtextextended(name, 0)) from unnest($1::text[]) as given (name)`,
    [names],
  );
  await db.query(
    `select set_config('gatehouse.login_iss', $1, true), set_config('gatehouse.login_sub', $2, true),
       set_config('gatehouse.login_sid', $3, true)`,
    [iss, sub, sid ?? ''],
  );
}

/** Whether an issuer has reported a logout of the person, or of the session, after `since`. */
export async function hasLoggedOut(
  db: Queryable,
  { iss, sub, sid }: PersonAtIssuer,
  since: Date,
): Promise<boolean> {
  return db.exists(
    `(select from tenant.issuer_logouts where iss = $1 and sub = $2 and sid is null and ended_at > $4 limit 1)
     union all
     (select from tenant.issuer_logouts
      where iss = $1 and sid = $3 and coalesce(sub, $2) = $2 and ended_at > $4 limit 1)`,
    [iss, sub, sid, since],
  );
}

/** Notes a logout, and waits for unfinished logins of the person or the session. */
export async function noteLogout(db: Queryable, { iss, sub, sid }: IssuerLogout): Promise<void> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    sid === null ? lockName(iss, { sub }) : lockName(iss, { sid }),
  ]);
  // The transaction's time is from before the wait.
  await db.query(
    'insert into tenant.issuer_logouts (id, iss, sub, sid, ended_at) values ($1, $2, $3, $4, clock_timestamp())',
    [newId(), iss, sub, sid],
  );
}

function lockName(iss: string, subject: { sub: string | null } | { sid: string }): string {
  return `logout ${JSON.stringify([iss, subject])}`;
}
