import type { TenantStatus } from '@gatehouse/contract/tenants';
import type { Pool } from '@gatehouse/pg/pool';
import type { Person } from '../keys/api-key.ts';
import { useToken } from './login-statements.ts';
import { lookMinutes, type Login, type NewLogin, type TenantOfLogin } from './login.ts';
import { sessionLife } from './session.ts';

/** Logins by issuers, before and after their tenant is known. */
export class LoginSystemStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_system`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async insert(login: NewLogin): Promise<void> {
    const { id, issuer, iss, sub, sid, choiceSha256, idToken, refreshToken } = login;
    await this.#pool.query(
      `insert into tenant.logins
         (id, issuer, iss, sub, sid, choice_sha256, id_token, refresh_token, expires_at, look_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, now() + make_interval(hours => $9, mins => 15),
         case when $8::bytea is not null then now() + make_interval(mins => $10) end)`,
      [
        ...[id, issuer, iss, sub, sid, choiceSha256, idToken, refreshToken, sessionLife.hours],
        lookMinutes.next,
      ],
    );
  }

  /** The login that waits for a choice, made within the last ten minutes. */
  async findByChoice(issuer: string, choiceSha256: Buffer): Promise<Login | null> {
    const { rows } = await this.#pool.query<Login>(
      `select id, issuer, iss, sub, sid, id_token as "idToken", refresh_token as "refreshToken"
       from tenant.logins
       where choice_sha256 = $1 and issuer = $2 and created_at > now() - interval '10 minutes'`,
      [choiceSha256, issuer],
    );
    return rows[0] ?? null;
  }

  async find(id: string): Promise<Login | null> {
    const { rows } = await this.#pool.query<Login>(
      `select id, issuer, iss, sub, sid, id_token as "idToken", refresh_token as "refreshToken"
       from tenant.logins where id = $1`,
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
      `update tenant.logins set choice_sha256 = null
       where iss = $1 and sub = $2 and choice_sha256 is not null`,
      [iss, sub],
    );
  }

  /** Uses the state of a login up. False if it was used, on whatever replica. */
  async useState(stateSha256: Buffer): Promise<boolean> {
    return useToken(this.#pool, stateSha256);
  }

  /** The tenants of these slugs that there are. */
  async findTenants(slugs: readonly string[]): Promise<TenantOfLogin[]> {
    const { rows } = await this.#pool.query<{ id: string; slug: string; status: TenantStatus }>(
      'select id, slug, status from tenant.tenants where slug = any($1)',
      [slugs],
    );
    return rows;
  }

  /**
   * Deletes up to `limit` logins that are over, have no session and are looked at no more, and as many states; returns the
   * larger number.
   */
  async deleteOld(limit: number): Promise<number> {
    const logins = await this.#pool.query(
      `delete from tenant.logins where id = any(array(
         select id from tenant.logins
         where expires_at < now() and look_at is null
           and not exists (select from tenant.sessions where login_id = logins.id) limit $1))`,
      [limit],
    );
    const states = await this.#pool.query(
      `delete from tenant.used_tokens where token_sha256 = any(array(
         select token_sha256 from tenant.used_tokens where expires_at < now() limit $1))`,
      [limit],
    );
    return Math.max(logins.rowCount ?? 0, states.rowCount ?? 0);
  }
}
