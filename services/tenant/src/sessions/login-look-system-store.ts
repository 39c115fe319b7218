import type { Pool } from '@gatehouse/pg/pool';
import { lookMinutes, type LoginToLookAt } from './login.ts';

/** Logins whose people the issuers are asked about again. A claim is a fence: a later one makes it void. */
export class LoginLookSystemStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_system`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Claims logins that are due. One without open sessions is due no more. */
  async claim(issuer: string, limit: number): Promise<LoginToLookAt[]> {
    const { rows } = await this.#pool.query<LoginToLookAt>(
      `update tenant.logins set looks = looks + 1,
         look_at = case when exists (select from tenant.sessions where login_id = logins.id and ends_at > now())
           then now() + make_interval(mins => $3) end
       where id = any(array(
         select id from tenant.logins where issuer = $1 and look_at <= now()
         order by look_at limit $2 for update skip locked))
       returning id, iss, sub, refresh_token as "refreshToken", looks, look_at is not null as "isOpen"`,
      [issuer, limit, lookMinutes.claim],
    );
    return rows;
  }

  /** False if the claim is void. */
  async keepRefreshToken({ id, looks }: LoginToLookAt, sealed: Buffer): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      'update tenant.logins set refresh_token = $3 where id = $1 and looks = $2',
      [id, looks, sealed],
    );
    return rowCount === 1;
  }

  async finish({ id, looks }: LoginToLookAt, idToken: Buffer | null): Promise<void> {
    await this.#pool.query(
      `update tenant.logins set id_token = coalesce($3, id_token), looked_at = now(),
         look_at = now() + make_interval(mins => $4)
       where id = $1 and looks = $2`,
      [id, looks, idToken, lookMinutes.next],
    );
  }

  async findOverdue(issuer: string, limit: number): Promise<string[]> {
    const { rows } = await this.#pool.query<{ id: string }>(
      `select id from tenant.logins
       where issuer = $1 and looked_at < now() - make_interval(mins => $3) and refresh_token is not null
         and look_at is not null
       order by looked_at limit $2`,
      [issuer, limit, lookMinutes.grace],
    );
    return rows.map(({ id }) => id);
  }

  /** Ends the looks at logins whose sessions have ended. */
  async endLooks(ids: readonly string[]): Promise<void> {
    await this.#pool.query('update tenant.logins set look_at = null where id = any($1::uuid[])', [ids]);
  }

  /** One step through the index for each name, however many logins there are. */
  async findIssuers(): Promise<string[]> {
    const { rows } = await this.#pool.query<{ issuer: string }>(
      `with recursive names as (
         (select issuer from tenant.logins where refresh_token is not null order by issuer limit 1)
         union all
         select (select issuer from tenant.logins
                 where issuer > names.issuer and refresh_token is not null order by issuer limit 1)
         from names where names.issuer is not null)
       select issuer from names where issuer is not null limit 1000`,
    );
    return rows.map(({ issuer }) => issuer);
  }
}
