import type { KeyedRequest } from '@gatehouse/http/idempotency-key';
import { withTenant, withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';

/** An earlier request with the same key. */
export interface KnownUse {
  id: string;
  /** SHA-256 of all that defines the request. */
  fingerprint: Buffer;
  /** The encrypted answer; null while the request runs. */
  response: Buffer | null;
}

export interface IdempotencyStoreOptions {
  /** The schema, which has a table `idempotency_records`. */
  service: string;
  /** Acts as `<service>_app`: for the records of one tenant. */
  app: Pool;
  /** Acts as `<service>_system`: for the records of owners, and for deleting all that have expired. */
  system: Pool;
}

/** A request that has no answer after this long is taken to have died. */
const claimSeconds = 60;
const keepSeconds = 24 * 60 * 60;

/**
 * Uses of idempotency keys. The id of a record is the claim of the request that works on it: a request that takes an
 * expired record over gives it a new id, which voids the old claim.
 */
export class IdempotencySystemStore {
  readonly #options: IdempotencyStoreOptions;
  readonly #table: string;

  constructor(options: IdempotencyStoreOptions) {
    this.#options = options;
    this.#table = `${options.service}.idempotency_records`;
  }

  /** Claims a key under the given id. Returns null when that succeeds, otherwise the use that the key has already. */
  async claim(use: KeyedRequest, id: string): Promise<KnownUse | null> {
    return this.#transaction(use.tenantId, async (db) => {
      const { rowCount } = await db.query(
        `insert into ${this.#table} as known (id, tenant_id, key, target, fingerprint, expires_at)
         values ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
         on conflict (tenant_id, key, target) do update
           set id = excluded.id, fingerprint = excluded.fingerprint, response = null, expires_at = excluded.expires_at
           where known.expires_at <= now()`,
        [id, use.tenantId, use.key, use.target, use.fingerprint, claimSeconds],
      );
      if (rowCount === 1) return null;
      // The conflict has locked the row, so it is still there.
      const { rows } = await db.query<KnownUse>(
        `select id, fingerprint, response from ${this.#table}
         where tenant_id is not distinct from $1 and key = $2 and target = $3`,
        [use.tenantId, use.key, use.target],
      );
      const [known] = rows;
      if (known === undefined) throw new Error('the conflicting record is gone');
      return known;
    });
  }

  /** Stores the answer of a claim, in the transaction of its effect. False when another request has taken it over. */
  async complete(db: Queryable, id: string, response: Buffer): Promise<boolean> {
    const { rowCount } = await db.query(
      `update ${this.#table} set response = $2, expires_at = now() + make_interval(secs => $3)
       where id = $1 and response is null`,
      [id, response, keepSeconds],
    );
    return rowCount === 1;
  }

  /** Stores the answer of a claim that had no effect, unless it has one already. */
  async completeAlone(tenantId: string | null, id: string, response: Buffer): Promise<void> {
    await this.#transaction(tenantId, (db) => this.complete(db, id, response));
  }

  /** Frees a key, unless its request was answered. */
  async release(tenantId: string | null, id: string): Promise<void> {
    await this.#transaction(tenantId, (db) =>
      db.query(`delete from ${this.#table} where id = $1 and response is null`, [id]),
    );
  }

  /** Deletes at most `limit` expired records, and returns how many. */
  async removeExpired(limit: number): Promise<number> {
    const { rowCount } = await this.#options.system.query(
      // The condition stands twice: a record that is taken over while this waits for its lock is no longer expired.
      `delete from ${this.#table} where expires_at <= now() and id in
         (select id from ${this.#table} where expires_at <= now() order by expires_at limit $1)`,
      [limit],
    );
    return rowCount ?? 0;
  }

  #transaction<Result>(tenantId: string | null, work: (db: Queryable) => Promise<Result>): Promise<Result> {
    const { app, system } = this.#options;
    return tenantId === null ? withTransaction(system, work) : withTenant(app, tenantId, work);
  }
}
