import { Batched, batchedFinder } from '@gatehouse/kit/batched';
import { inTenantOrder, withTransaction, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { deviceLoginLife, mostDeviceLogins, loginNetworkDays } from '../bounds.ts';
import {
  type NewDeviceLogin,
  type PolledLogin,
  type TooManyWait,
  type WaitingProgram,
} from './device-login.ts';

export const oldDeviceLogins: OldRows = {
  ...{ table: 'tenant.device_logins', key: 'id', skipLocked: true },
  where: `expires_at < now() - interval '2 minutes'`,
};

/** A login with the hexadecimal hash of its program's code. */
type StoredDeviceLogin = PolledLogin & { deviceSha256: string };

/** An undecided login with the hexadecimal hash of its code. */
type StoredProgram = WaitingProgram & { userSha256: string };

/** Whether the poll before is long enough ago. A second of tolerance, because clocks and networks differ. */
const isDue = `coalesce(polled_at <= now() - interval '${deviceLoginLife.intervalSeconds - 1} seconds', true)`;

/**
 * Logins of programs, which belong to no tenant before a person has confirmed them. Requests without a key, however many,
 * take one connection for each kind of statement.
 * `pool` acts as `tenant_system`.
 */
export class DeviceLoginSystemStore extends Store {
  readonly #inserts = new Batched((logins: readonly NewDeviceLogin[]) => this.#insert(logins));
  readonly #polls = new Batched((ids: readonly string[]) => this.#notePolls(ids));
  /** By the hexadecimal hash of the program's code. */
  readonly findPolled = batchedFinder(
    (hashes) => this.#findPolled(hashes),
    ({ deviceSha256 }) => deviceSha256,
  );
  /** The undecided login by the hexadecimal hash of the person's code. */
  readonly findWaiting = batchedFinder(
    (hashes) => this.#findWaiting(hashes),
    ({ userSha256 }) => userSha256,
  );

  /**
   * Adds a login. Returns null, or the exceeded bound of {@link mostDeviceLogins}: the bound of all also for a code in
   * use. Beyond the bound of all, the networks with the most logins lose their last ones.
   */
  insert(login: NewDeviceLogin): Promise<TooManyWait | null> {
    return this.#inserts.get(login);
  }

  /** Notes a poll. False if another one was noted within the interval, at whatever replica. */
  notePoll(id: string): Promise<boolean> {
    return this.#polls.get(id);
  }

  async #insert(logins: readonly NewDeviceLogin[]): Promise<(TooManyWait | null)[]> {
    return withTransaction(this.pool, async (db) => {
      // Replicas count one after the other: each sees the logins added by another one.
      await db.query(`select pg_advisory_xact_lock(hashtextextended('device logins', 0))`);
      const inserted = new Map(
        (await insertWithin(db, logins)).map(({ id, isInserted }) => [id, isInserted]),
      );
      const removed = new Set(await removeSurplus(db));
      return logins.map(({ id }) => {
        const isInserted = inserted.get(id);
        if (isInserted === undefined) return 'ofNetwork';
        return isInserted && !removed.has(id) ? null : 'ofAll';
      });
    });
  }

  async #findPolled(hashes: readonly string[]): Promise<StoredDeviceLogin[]> {
    return this.pool.all<StoredDeviceLogin>(
      `select login.id, encode(device_sha256, 'hex') as "deviceSha256", not ${isDue} as "isEarly",
         case when login.expires_at <= now() then 'expired' when decided_at is null then 'waiting'
           when session_id is null then 'denied' else 'allowed' end as state, sessions.tenant_id as "tenantId"
       from tenant.device_logins as login left join tenant.sessions on sessions.id = session_id
       where device_sha256 = any($1)`,
      [hashes.map((hash) => Buffer.from(hash, 'hex'))],
    );
  }

  async #notePolls(ids: readonly string[]): Promise<boolean[]> {
    // Replicas lock rows in one order.
    const rows = await this.pool.all<{ id: string }>(
      `update tenant.device_logins set polled_at = now() where id = any(array(
         select id from tenant.device_logins where id = any($1) and ${isDue} order by id for update))
       returning id`,
      [ids],
    );
    const noted = new Set(rows.map(({ id }) => id));
    // One of several in the same batch.
    return ids.map((id) => noted.delete(id));
  }

  async #findWaiting(hashes: readonly string[]): Promise<StoredProgram[]> {
    return this.pool.all<StoredProgram>(
      `select id, encode(user_sha256, 'hex') as "userSha256", client_id as "clientId", client_ip as "clientIp",
         created_at as "createdAt"
       from tenant.device_logins where user_sha256 = any($1) and decided_at is null and expires_at > now()`,
      [hashes.map((hash) => Buffer.from(hash, 'hex'))],
    );
  }

  /** Allows a login in a session, or denies it without one. False if it was decided or has expired. */
  decide(id: string, sessionId: string | null): Promise<boolean> {
    return inTenantOrder(this.pool, id, (db) =>
      db.exists(
        `update tenant.device_logins set decided_at = now(), session_id = $2
         where id = $1 and decided_at is null and expires_at > now()`,
        [id, sessionId],
      ),
    );
  }
}

/** Returns the logins within the bounds of their networks, and whether they were added. */
async function insertWithin(
  db: Queryable,
  logins: readonly NewDeviceLogin[],
): Promise<{ id: string; isInserted: boolean }[]> {
  return db.all<{ id: string; isInserted: boolean }>(
    `with given as (
       select id, device_sha256, user_sha256, client_id, client_ip, network, wide_network,
         row_number() over (partition by network order by place) as nth
       from unnest($1::uuid[], $2::bytea[], $3::bytea[], $4::text[], $5::text[], $6::text[], $7::text[])
         with ordinality
         as given (id, device_sha256, user_sha256, client_id, client_ip, network, wide_network, place)),
     waiting as (
       select network, counted.count, exists (
         select from tenant.login_networks
         where login_networks.network = networks.network
           and last_login_at > now() - make_interval(days => $11)) as is_known
       from (select distinct network from given) as networks cross join lateral (
         select count(*) from tenant.device_logins
         where device_logins.network = networks.network and decided_at is null and expires_at > now()) as counted),
     within as (
       select id, device_sha256, user_sha256, client_id, client_ip, network, wide_network, is_known
       from given join waiting using (network)
       where nth + waiting.count <= case when is_known then $9::int else $8::int end),
     inserted as (
       insert into tenant.device_logins
         (id, device_sha256, user_sha256, client_id, client_ip, network, wide_network, is_known, expires_at)
       select id, device_sha256, user_sha256, client_id, client_ip, network, wide_network, is_known,
         now() + make_interval(mins => $10)
       from within on conflict do nothing returning id)
     select within.id, inserted.id is not null as "isInserted" from within left join inserted using (id)`,
    [
      logins.map(({ id }) => id),
      logins.map(({ deviceSha256 }) => deviceSha256),
      logins.map(({ userSha256 }) => userSha256),
      logins.map(({ clientId }) => clientId),
      logins.map(({ clientIp }) => clientIp),
      logins.map(({ network }) => network),
      logins.map(({ wideNetwork }) => wideNetwork),
      ...[mostDeviceLogins.ofNetwork, mostDeviceLogins.ofKnownNetwork],
      ...[deviceLoginLife.minutes, loginNetworkDays],
    ],
  );
}

/**
 * Deletes the logins beyond the bounds of known and of unknown networks, and returns their ids: first the last ones of
 * the wide networks with the most. A login of a network with few always finds a place.
 */
async function removeSurplus(db: Queryable): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `with waiting as (
       select id, created_at, is_known,
         row_number() over (partition by is_known, wide_network order by created_at, id) as nth
       from tenant.device_logins where expires_at > now() and decided_at is null),
     placed as (
       select id, is_known, row_number() over (partition by is_known order by nth, created_at, id) as place
       from waiting)
     delete from tenant.device_logins where id = any(array(
       select id from tenant.device_logins where id = any(array(
         select id from placed where place > case when is_known then $1::int else $2::int end))
       order by id for update skip locked))
     returning id`,
    [mostDeviceLogins.ofKnown, mostDeviceLogins.ofUnknown],
  );
  return rows.map(({ id }) => id);
}
