import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { ResealingOptions } from '@gatehouse/secrets/resealing';
import { findStale, replaceSealed, sealedColumns, type SealedRow, type SealedTable } from './sealed-store.ts';

interface Row {
  tenantId: string;
  id: string;
}

/** Encrypts and decrypts the secrets of a table, each for its row only. */
export class SealedColumn {
  readonly #keyRing: KeyRing;
  readonly #table: SealedTable;

  constructor(keyRing: KeyRing, table: SealedTable) {
    this.#keyRing = keyRing;
    this.#table = table;
  }

  seal(row: Row, text: string): Buffer {
    return this.#keyRing.seal(Buffer.from(text), this.#contextOf(row));
  }

  /** Throws if the key is not in the ring, or the value belongs to another row. */
  open(row: Row, sealed: Buffer): string {
    return this.#keyRing.open(sealed, this.#contextOf(row)).toString();
  }

  #contextOf({ tenantId, id }: Row): string {
    return `${tenantId}/agent.${this.#table}/${sealedColumns[this.#table]}/${id}`;
  }
}

/** How the secrets of all tables are encrypted again. */
export function secretsToReseal(
  { app, system }: { app: Pool; system: Pool },
  keyRing: KeyRing,
  log: Logger,
): ResealingOptions<SealedRow> {
  const tables = Object.keys(sealedColumns) as SealedTable[];
  return {
    freshPrefix: keyRing.freshPrefix,
    find: async (prefix, limit) =>
      (await Promise.all(tables.map((table) => findStale(system, table, prefix, limit)))).flat(),
    reseal: ({ table, sealed, ...row }) => {
      const column = new SealedColumn(keyRing, table);
      return column.seal(row, column.open(row, sealed));
    },
    replace: (row, again) => replaceSealed(app, row, again),
    log,
  };
}
