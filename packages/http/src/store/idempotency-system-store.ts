import { withTenant, withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';

/** Which of a caller's keys, and on what. */
export interface KeyUse {
  /** Null for owners, who have none. */
  tenantId: string | null;
  /** `Idempotency-Key` as it was sent. */
  key: string;
  /** SHA-256 of the route and the parameters in its path. */
  target: Buffer;
}

/** What a key was used for before. */
export interface KnownUse {
  id: string;
  /** SHA-256 of all that defines the request. */
  fingerprint: Buffer;
  /** The sealed answer; null while the request runs. */
  response: Buffer | null;
}

export interface IdempotencyStoreOptions {
  /** The schema, which has a table `idempotency_records`. */
  service: string;
  /** Acts as `<service>_app`: the records of one tenant. */
  app: Pool;
  /** Acts as `<service>_system`: those of owners, and the removal of all that have expired. */
  system: Pool;
}

/** After this, a request without an outcome is taken for dead. */
const claimSeconds = 60;
const keepSeconds = 24 * 60 * 60;

/**
 * The uses of idempotency keys. A record's id is the claim of the request that works on it: whoever takes an expired
 * one over gives it a new id, and the old claim is then good for nothing.
 */
export class IdempotencySystemStore {
  readonly #options: IdempotencyStoreOptions;
  readonly #table: string;

  constructor(options: IdempotencyStoreOptions) {
    this.#options = options;
    this.#table = `${options.service}.idempotency_records`;
  }

  /** Claims a key that is free, under the given id. Returns what holds it otherwise, and null when the claim is ours. */
  async claim(
    use: KeyUse,
    { id, fingerprint }: Pick<KnownUse, 'id' | 'fingerprint'>,
  ): Promise<KnownUse | null> {
    return this.#transaction(use.tenantId, async (db) => {
      const { rowCount } = await db.query(
        `insert into ${this.#table} as known (id, tenant_id, key, target, fingerprint, expires_at)
         values ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
         on conflict (tenant_id, key, target) do update
           set id = excluded.id, fingerprint = excluded.fingerprint, response = null, expires_at = excluded.expires_at
           where known.expires_at <= now()`,
        [id, use.tenantId, use.key, use.target, fingerprint, claimSeconds],
      );
      if (rowCount === 1) return null;
      // The conflict has locked the row, so it is still there.
      const { rows } = await db.query<KnownUse>(
        `select id, fingerprint, response from ${this.#table}
         where tenant_id is not distinct from $1 and key = $2 and target = $3`,
        [use.tenantId, use.key, use.target],
      );
      const [known] = rows;
      if (known === undefined) throw new Error('the record that was in the way is gone');
      return known;
    });
  }

  /** Sets the outcome of a claim, in the transaction of its effect. False when somebody else has taken it over. */
  async complete(db: Queryable, id: string, response: Buffer): Promise<boolean> {
    const { rowCount } = await db.query(
      `update ${this.#table} set response = $2, expires_at = now() + make_interval(secs => $3)
       where id = $1 and response is null`,
      [id, response, keepSeconds],
    );
    return rowCount === 1;
  }

  /** Sets the outcome of a claim that had no effect, unless it has one already. */
  async completeAlone(tenantId: string | null, id: string, response: Buffer): Promise<void> {
    await this.#transaction(tenantId, (db) => this.complete(db, id, response));
  }

  /** Makes a key free again, unless there is an outcome. */
  async release(tenantId: string | null, id: string): Promise<void> {
    await this.#transaction(tenantId, (db) =>
      db.query(`delete from ${this.#table} where id = $1 and response is null`, [id]),
    );
  }

  /** Deletes some of the expired records, and says how many. */
  async removeExpired(limit: number): Promise<number> {
    const { rowCount } = await this.#options.system.query(
      // Said twice: one that is taken over while we wait for it has not expired any more.
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
