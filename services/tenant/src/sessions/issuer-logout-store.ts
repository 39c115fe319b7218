import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import type { IssuerLogout } from '../issuers/logout-token.ts';

/** Statements on logouts that issuers have reported, and on logins that are under way meanwhile. */

/** A person in a session at an issuer. */
export interface PersonAtIssuer {
  iss: string;
  sub: string;
  sid: string | null;
}

/**
 * Makes logouts of the person, and of the session, wait until the transaction ends, or waits for one that came first:
 * either this transaction sees the logout, or the logout what this transaction has written. From then on, a transaction
 * of a tenant sees the logouts of this person.
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

/** Whether an issuer has reported a logout of the person, or of the session, after that time. */
export async function hasLoggedOut(
  db: Queryable,
  { iss, sub, sid }: PersonAtIssuer,
  since: Date,
): Promise<boolean> {
  const { rows } = await db.query(
    `(select from tenant.issuer_logouts where iss = $1 and sub = $2 and sid is null and ended_at > $4 limit 1)
     union all
     (select from tenant.issuer_logouts
      where iss = $1 and sid = $3 and coalesce(sub, $2) = $2 and ended_at > $4 limit 1)`,
    [iss, sub, sid, since],
  );
  return rows.length > 0;
}

/** Notes a logout, and waits for logins of the person or the session that are being written. */
export async function noteLogout(db: Queryable, { iss, sub, sid }: IssuerLogout): Promise<void> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    sid === null ? lockName(iss, { sub }) : lockName(iss, { sid }),
  ]);
  // The time of the transaction is that before it has waited.
  await db.query(
    'insert into tenant.issuer_logouts (id, iss, sub, sid, ended_at) values ($1, $2, $3, $4, clock_timestamp())',
    [newId(), iss, sub, sid],
  );
}

function lockName(iss: string, subject: { sub: string | null } | { sid: string }): string {
  return `logout ${JSON.stringify([iss, subject])}`;
}
