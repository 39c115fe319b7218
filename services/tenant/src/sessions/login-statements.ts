import type { Queryable } from '@gatehouse/pg/pool';
import type { IssuerLogout } from '../issuers/logout-token.ts';
import type { ClosedLogin } from './login.ts';

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

const closedColumns = `id, iss, sub, case when look_at is not null then refresh_token end as "refreshToken"`;

/** Ends the choices and looks of the logins that a logout names, as they were; a look under way is void. */
export async function closeLogins(db: Queryable, { iss, sub, sid }: IssuerLogout): Promise<ClosedLogin[]> {
  const named = await (sid === null
    ? db.query<ClosedLogin>(
        `select ${closedColumns} from tenant.logins where iss = $1 and sub = $2 order by id for no key update`,
        [iss, sub],
      )
    : db.query<ClosedLogin>(
        `select ${closedColumns} from tenant.logins where iss = $1 and sid = $2 and sub = coalesce($3, sub)
         order by id for no key update`,
        [iss, sid, sub],
      ));
  const ids = named.rows.map(({ id }) => id);
  await db.query(
    `update tenant.logins set choice_sha256 = null, look_at = null, looks = looks + 1
     where id = any($1::uuid[])`,
    [ids],
  );
  return named.rows;
}
