import { plainArray } from '@gatehouse/pg/arrays';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { headBytes } from '../key-ring.ts';

/** A column of sealed values living longer than a day. It has an index on `sealed_by(column)`. */
export interface SealedColumn {
  /** In the schema of the service. */
  table: string;
  column: string;
  /** Whether its rows belong to no tenant. Default: they have a `tenant_id`. */
  hasNoTenant?: true;
  /** A column the context of a value needs beside the row's id and tenant. */
  also?: string;
  /** The context the values are sealed in. */
  context: (row: Pick<SealedValue, 'id' | 'tenantId' | 'also'>) => string;
}

/** A column with hashes as `KeyRing.hashes` returns them, after a mark. It has an index of texts from the mark on. */
export interface HashColumn {
  table: string;
  /** In the collation "C". */
  column: string;
  mark: string;
}

/** A value, by its beginning. */
export interface SealedValue {
  place: SealedColumn;
  id: string;
  /** Empty for a row without one. */
  tenantId: string;
  also: string | null;
  sealed: Buffer;
}

/** The sealed values of a service, of all tenants. */
export class SealedValueSystemStore {
  readonly #service: string;
  readonly #system: Pool;
  readonly #app: Pool | undefined;

  /** `system` acts as `<service>_system`, and `app` as `<service>_app` where only this role may replace values. */
  constructor(service: string, { system, app }: { system: Pool; app?: Pool | undefined }) {
    this.#service = service;
    this.#system = system;
    this.#app = app;
  }

  /** Up to `limit` values of a column beginning with `prefix`, except the ones with these ids. */
  async find(
    place: SealedColumn,
    { prefix, except, limit }: { prefix: Buffer; except: readonly string[]; limit: number },
  ): Promise<SealedValue[]> {
    const { column, also = 'null', hasNoTenant } = place;
    const tenant = hasNoTenant === true ? `''` : 'tenant_id';
    const rows = await this.#system.all<Omit<SealedValue, 'place'>>(
      `select id, ${tenant} as "tenantId", ${also} as also, substring(${column} from 1 for ${headBytes}) as sealed
       ${this.#sealedBy(place)} and id <> all ($2::uuid[]) limit $3`,
      [prefix, plainArray(except), limit],
    );
    return rows.map((row) => ({ ...row, place }));
  }

  /** The number of values of a column beginning with `prefix`. */
  async count(place: SealedColumn, prefix: Buffer): Promise<number> {
    const rows = await this.#system.all<{ count: number }>(
      `select count(*)::integer as count ${this.#sealedBy(place)}`,
      [prefix],
    );
    return rows[0]?.count ?? 0;
  }

  /** The number of hashes by a key. */
  async countHashes({ table, column, mark }: HashColumn, keyId: string): Promise<number> {
    const { count } = await this.#system.one<{ count: number }>(
      `select count(*)::integer as count from ${this.#service}.${table}
       where ${column} >= '${mark}' and starts_with(${column}, $1)`,
      [`${mark}${keyId}:`],
    );
    return count;
  }

  /** Replaces the beginning of a value unless it has changed meanwhile. */
  async replaceHead(
    { place: { table, column }, id, tenantId, sealed }: SealedValue,
    { head, replacedBytes }: { head: Buffer; replacedBytes: number },
  ): Promise<void> {
    const text = `update ${this.#service}.${table} set ${column} = $3::bytea || substring(${column} from $4::integer + 1)
       where id = $1 and substring(${column} from 1 for $4::integer) = $2`;
    const values = [id, sealed.subarray(0, replacedBytes), head, replacedBytes];
    if (this.#app === undefined || tenantId === '') await this.#system.query(text, values);
    else await withTenant(this.#app, tenantId, (db) => db.query(text, values));
  }

  #sealedBy({ table, column }: SealedColumn): string {
    return `from ${this.#service}.${table} where ${this.#service}.sealed_by(${column}) = $1::bytea and ${column} is not null`;
  }
}
