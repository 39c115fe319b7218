import { Store } from '@gatehouse/pg/store';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { waitingRevocations } from '../bounds.ts';
import type { WaitingRevocation } from './login.ts';

/** Revocations after all attempts, which take a day, or a month of waiting. An index by their time finds both. */
export const oldRevocations: OldRows = {
  ...{ table: 'tenant.token_revocations', key: 'id', skipLocked: true },
  where: `created_at < now() - interval '${waitingRevocations.hours} hours'
    and (attempts >= ${waitingRevocations.attempts} or created_at < now() - interval '${waitingRevocations.days} days')`,
};

/**
 * Inserts a revocation for each row of `logins`, as far as its issuer and its person have places. It is due at once.
 * Rows of the statement itself are not counted, so the end of all logins of a person may take the person beyond the
 * limit: up to a person's 200 kept logins.
 */
export function insertRevocations(logins: string): string {
  return `insert into tenant.token_revocations (id, issuer, login_id, iss, sub, refresh_token, next_at)
    select gen_random_uuid(), issuer, id, iss, sub, refresh_token, now() from ${logins} as ended
    where refresh_token is not null
      and ${hasPlace('other.issuer = ended.issuer', waitingRevocations.most)}
      and ${hasPlace('other.iss = ended.iss and other.sub = ended.sub', waitingRevocations.perPerson)}`;
}

/** Counts rows up to `most` by an index. */
function hasPlace(condition: string, most: number): string {
  return `(select count(*) from (
    select from tenant.token_revocations as other where ${condition} limit ${most}) as waiting) < ${most}`;
}

/** Revocations to be made at issuers, new or failed before. `pool` acts as `tenant_system`. */
export class TokenRevocationSystemStore extends Store {
  /** False if too many wait for the issuer, or for the person. */
  async add({ issuer, loginId, iss, sub, refreshToken }: Omit<WaitingRevocation, 'id'>): Promise<boolean> {
    return this.pool.exists(
      insertRevocations(
        `(select $1::text as issuer, $2::uuid as id, $3::text as iss, $4::text as sub, $5::bytea as refresh_token)`,
      ),
      [issuer, loginId, iss, sub, refreshToken],
    );
  }

  /**
   * Claims an issuer's due revocations, until their next attempt: after 1 minute, 2, 4 and so on. Leaves out people
   * with a revalidated login: some issuers revoke all of a person's tokens for a client, by any of them.
   */
  async claim(issuer: string, limit: number): Promise<WaitingRevocation[]> {
    return this.pool.all<WaitingRevocation>(
      `update tenant.token_revocations set attempts = attempts + 1,
         next_at = now() + make_interval(mins => least(2 ^ least(attempts, 20), $3)::integer)
       where id = any(array(
         select id from tenant.token_revocations where issuer = $1 and next_at <= now()
           and not exists (select from tenant.logins where logins.iss = token_revocations.iss
             and logins.sub = token_revocations.sub and look_at is not null)
         order by next_at limit $2 for update skip locked))
       returning id, issuer, login_id as "loginId", iss, sub, refresh_token as "refreshToken"`,
      [issuer, limit, waitingRevocations.pauseMinutes],
    );
  }

  async remove(id: string): Promise<void> {
    await this.pool.query('delete from tenant.token_revocations where id = $1', [id]);
  }
}
