import type { Pool } from '@gatehouse/pg/pool';
import type { WaitingRevocation } from './token-revocations.ts';

/** The most that wait for an issuer, the longest pause between two attempts, and the end of them. */
export const waitingRevocations = { most: 1_000, pauseMinutes: 180, hours: 24 } as const;

/** Revocations at issuers that have failed, and are tried again. */
export class TokenRevocationSystemStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_system`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Tries it again in a minute. False if too many wait for the issuer. */
  async add({ id, issuer, loginId, iss, sub, refreshToken }: WaitingRevocation): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `insert into tenant.token_revocations (id, issuer, login_id, iss, sub, refresh_token, next_at)
       select $1::uuid, $2::text, $3::uuid, $4::text, $5::text, $6::bytea, now() + interval '1 minute'
       where (select count(*) from (
         select from tenant.token_revocations where issuer = $2 limit $7) as waiting) < $7`,
      [id, issuer, loginId, iss, sub, refreshToken, waitingRevocations.most],
    );
    return rowCount === 1;
  }

  /** Claims those of an issuer that are due, until their next attempt: after 1 minute, 2, 4 and so on. */
  async claim(issuer: string, limit: number): Promise<WaitingRevocation[]> {
    const { rows } = await this.#pool.query<WaitingRevocation>(
      `update tenant.token_revocations set attempts = attempts + 1,
         next_at = now() + make_interval(mins => least(2 ^ least(attempts, 20), $3)::integer)
       where id = any(array(
         select id from tenant.token_revocations where issuer = $1 and next_at <= now()
         order by next_at limit $2 for update skip locked))
       returning id, issuer, login_id as "loginId", iss, sub, refresh_token as "refreshToken"`,
      [issuer, limit, waitingRevocations.pauseMinutes],
    );
    return rows;
  }

  async remove(id: string): Promise<void> {
    await this.#pool.query('delete from tenant.token_revocations where id = $1', [id]);
  }

  /** Gives up to `limit` of those up that have waited for a day; returns how many. */
  async deleteOld(limit: number): Promise<number> {
    const { rowCount } = await this.#pool.query(
      `delete from tenant.token_revocations where id = any(array(
         select id from tenant.token_revocations where created_at < now() - make_interval(hours => $2)
         limit $1 for update skip locked))`,
      [limit, waitingRevocations.hours],
    );
    return rowCount ?? 0;
  }
}
