import type { KeyedRequest } from '@gatehouse/http/idempotency-key';
import { withTenant, withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { OldRows } from '@gatehouse/pg/clean-up-store';

export function oldRecords(service: string): OldRows {
  return {
    ...{ table: `${service}.idempotency_records`, key: 'id' },
    ...{ where: 'expires_at <= now()', order: 'expires_at' },
  };
}

/** An earlier request with the same key. */
export interface KnownUse {
  id: string;
  /** SHA-256 of everything defining the request. */
  fingerprint: Buffer;
  /** The encrypted response; null while the request runs. */
  response: Buffer | null;
}

/** The response to a claimed request. */
export interface ClaimResponse {
  /** The claim. */
  id: string;
  fingerprint: Buffer;
  response: Buffer;
}

export interface IdempotencyStoreOptions {
  /** The schema; it must have a table `idempotency_records`. */
  service: string;
  /** A pool of `<service>_app`, for records of one tenant. */
  app: Pool;
  /** A pool of `<service>_system`, for records of owners and for deleting expired records. */
  system: Pool;
}

/** A request without a response after this time is considered dead. */
const claimSeconds = 60;
const keepSeconds = 24 * 60 * 60;

/**
 * The table of idempotency keys. The id of a record is the claim of the request in progress: a request taking over an
 * expired record sets a new id, which invalidates the old claim.
 */
export class IdempotencySystemStore {
  readonly #options: IdempotencyStoreOptions;
  readonly #table: string;

  constructor(options: IdempotencyStoreOptions) {
    this.#options = options;
    this.#table = `${options.service}.idempotency_records`;
  }

  /** Claims a key with the given id. Returns null on success, otherwise the existing use of the key. */
  async claim(use: KeyedRequest & { fingerprint: Buffer }, id: string): Promise<KnownUse | null> {
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
      // The conflict has locked the row, so it still exists.
      const rows = await db.all<KnownUse>(
        `select id, fingerprint, response from ${this.#table}
         where tenant_id is not distinct from $1 and key = $2 and target = $3`,
        [use.tenantId, use.key, use.target],
      );
      const [known] = rows;
      if (known === undefined) throw new Error('the conflicting record no longer exists');
      return known;
    });
  }

  /**
   * Stores the response of a claim in the transaction of its effect. Returns false if another request has taken over
   * the claim.
   */
  async complete(db: Queryable, { id, fingerprint, response }: ClaimResponse): Promise<boolean> {
    return db.exists(
      `update ${this.#table} set response = $2, fingerprint = $3, expires_at = now() + make_interval(secs => $4)
       where id = $1 and response is null`,
      [id, response, fingerprint, keepSeconds],
    );
  }

  /** Extends a claim. Returns false if another request has taken it over. */
  async renew(tenantId: string | null, id: string): Promise<boolean> {
    const { rowCount } = await this.#transaction(tenantId, (db) =>
      db.query(
        `update ${this.#table} set expires_at = now() + make_interval(secs => $2) where id = $1 and response is null`,
        [id, claimSeconds],
      ),
    );
    return rowCount === 1;
  }

  /** Stores the response of a claim without effect, unless it has a response already. */
  async completeAlone(tenantId: string | null, completion: ClaimResponse): Promise<void> {
    await this.#transaction(tenantId, (db) => this.complete(db, completion));
  }

  /** Releases a key, unless it has a response. */
  async release(tenantId: string | null, id: string): Promise<void> {
    await this.#transaction(tenantId, (db) =>
      db.query(`delete from ${this.#table} where id = $1 and response is null`, [id]),
    );
  }

  #transaction<Result>(tenantId: string | null, work: (db: Queryable) => Promise<Result>): Promise<Result> {
    const { app, system } = this.#options;
    return tenantId === null ? withTransaction(system, work) : withTenant(app, tenantId, work);
  }
}
