import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { lookMinutes, groupsHours } from '../bounds.ts';
import { hasItsKey } from '../keys/api-key-store.ts';
import type { Person } from '../keys/api-key.ts';
import { boundPersonalKeys } from './login-store.ts';
import { type LoginToRevalidate } from './login.ts';
import { insertRevocations } from './token-revocation-system-store.ts';

/** Whether programs have valid keys of the person of a login. */
const programsNeedIt = `exists (
  select from tenant.api_keys parent join tenant.api_keys program on program.confirmed_by = parent.id
  where parent.iss = logins.iss and parent.sub = logins.sub and parent.revoked_at is null
    and program.revoked_at is null and program.expires_at > now())`;

/** Keys of programs need one login of their person, the last one with revalidations. */
const isNeededByPrograms = `(${programsNeedIt} and not exists (select from tenant.logins later
  where later.iss = logins.iss and later.sub = logins.sub and later.id > logins.id
    and later.look_at is not null))`;
/** Whether a session is open, and its key has not ended. */
const hasSession = `exists (
  select from tenant.sessions join tenant.api_keys on api_keys.id = sessions.key_id
  where sessions.login_id = logins.id and sessions.ends_at > now() and ${hasItsKey})`;

/** Logins for revalidation at their issuers. A claim is a fence: a later one makes it void. */
export class RevalidationSystemStore extends Store {
  readonly #deviceKeySeconds: number;

  /** `pool` acts as `tenant_system`. Own keys of a person live for `deviceKeySeconds` after the last login at most. */
  constructor(pool: Pool, deviceKeySeconds: number) {
    super(pool);
    this.#deviceKeySeconds = deviceKeySeconds;
  }

  /** Claims due logins. An unused one is due no more, and its token waits to be revoked. */
  async claim(issuer: string, limit: number): Promise<LoginToRevalidate[]> {
    return this.pool.all<LoginToRevalidate>(
      `with claimed as (
         update tenant.logins set looks = looks + 1,
           look_at = case
             when ${hasSession} or ${isNeededByPrograms}
             then now() + make_interval(mins => $3) end
         where id = any(array(
           select id from tenant.logins where issuer = $1 and look_at <= now()
           order by look_at limit $2 for update skip locked))
         returning id, issuer, iss, sub, refresh_token, looks, look_at, looked_at, groups_read_at),
       revoked as (${insertRevocations('(select id, issuer, iss, sub, refresh_token from claimed where look_at is null)')})
       select id, iss, sub, refresh_token as "refreshToken", looks, look_at is not null as "isInUse",
         looked_at < now() - make_interval(mins => $4) as "isOverdue",
         groups_read_at < now() - make_interval(hours => $5) as "hasOldGroups"
       from claimed`,
      [issuer, limit, lookMinutes.claim, lookMinutes.grace, groupsHours],
    );
  }

  /**
   * Ends the revalidations of an unused login, once; its token waits to be revoked. A revalidation under way is void.
   * Returns the name of the issuer.
   */
  async drop(id: string): Promise<string | null> {
    return (
      (
        await this.pool.first<{ issuer: string }>(
          `with dropped as (
         update tenant.logins set look_at = null, looks = looks + 1
         where id = $1 and look_at is not null and refresh_token is not null
           and not (${hasSession} or ${isNeededByPrograms})
         returning id, issuer, iss, sub, refresh_token),
       revoked as (${insertRevocations('dropped')})
       select issuer from dropped`,
          [id],
        )
      )?.issuer ?? null
    );
  }

  /** False if the claim is void. */
  async keepRefreshToken({ id, looks }: LoginToRevalidate, sealed: Buffer): Promise<boolean> {
    return this.pool.exists('update tenant.logins set refresh_token = $3 where id = $1 and looks = $2', [
      id,
      looks,
      sealed,
    ]);
  }

  async isRevalidated({ iss, sub }: Person): Promise<boolean> {
    return this.pool.exists(
      'select from tenant.logins where iss = $1 and sub = $2 and look_at is not null limit 1',
      [iss, sub],
    );
  }

  async holdsLease({ id, looks }: LoginToRevalidate): Promise<boolean> {
    return this.pool.exists('select from tenant.logins where id = $1 and looks = $2', [id, looks]);
  }

  /** Notes the issuer's confirmation of the login, and with an ID token also the reading of its groups. */
  async finish({ id, looks }: LoginToRevalidate, idToken: Buffer | null): Promise<void> {
    await this.pool.query(
      `update tenant.logins set id_token = coalesce($3, id_token), looked_at = now(),
         groups_read_at = case when $3::bytea is null then groups_read_at else now() end,
         look_at = now() + make_interval(mins => $4)
       where id = $1 and looks = $2`,
      [id, looks, idToken, lookMinutes.next],
    );
  }

  async findOverdue(issuer: string, limit: number): Promise<string[]> {
    const rows = await this.pool.all<{ id: string }>(
      `select id from tenant.logins
       where issuer = $1 and looked_at < now() - make_interval(mins => $3) and refresh_token is not null
         and look_at is not null
       order by looked_at limit $2`,
      [issuer, limit, lookMinutes.grace],
    );
    return rows.map(({ id }) => id);
  }

  /** Whether an issuer has confirmed the person of a login by another one within the grace. */
  async isConfirmedElsewhere({
    id,
    iss,
    sub,
  }: Pick<LoginToRevalidate, 'id' | 'iss' | 'sub'>): Promise<boolean> {
    return this.pool.exists(
      `select from tenant.logins
       where iss = $1 and sub = $2 and id <> $3 and looked_at > now() - make_interval(mins => $4) limit 1`,
      [iss, sub, id, lookMinutes.grace],
    );
  }

  /**
   * Ends the revalidations of logins after the end of their sessions, and bounds the own keys of people without another
   * login. A revalidation under way is void. Tokens that the issuer still takes wait to be revoked.
   */
  async endRevalidations(ids: readonly string[], { revokes }: { revokes: boolean }): Promise<void> {
    await withTransaction(this.pool, async (db) => {
      const rows = await db.all<Person>(
        `with ended as (
           update tenant.logins set look_at = null, looks = looks + 1 where id = any(array(
             select id from tenant.logins where id = any($1::uuid[]) order by id for no key update))
           returning id, issuer, iss, sub, refresh_token),
         revoked as (${insertRevocations('(select id, issuer, iss, sub, refresh_token from ended where $2::boolean)')})
         select iss, sub from ended`,
        [ids, revokes],
      );
      await boundPersonalKeys(db, rows, this.#deviceKeySeconds);
    });
  }

  /** One step through the index for each name, however many logins there are. */
  async findIssuers(): Promise<string[]> {
    const rows = await this.pool.all<{ issuer: string }>(`with recursive names as (
         (select issuer from tenant.logins where refresh_token is not null order by issuer limit 1)
         union all
         select (select issuer from tenant.logins
                 where issuer > names.issuer and refresh_token is not null order by issuer limit 1)
         from names where names.issuer is not null)
       select issuer from names where issuer is not null limit 1000`);
    return rows.map(({ issuer }) => issuer);
  }
}
