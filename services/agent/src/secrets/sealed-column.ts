import type { KeyRing } from '@gatehouse/secrets/key-ring';

/** The column of secrets, by its table. */
export const columnOf = { cookies: 'value', mcp_servers: 'secrets', mcp_logins: 'secrets' } as const;
export type SealedTable = keyof typeof columnOf;

interface SealedRow {
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

  seal(row: SealedRow, text: string): Buffer {
    return this.#keyRing.seal(Buffer.from(text), contextOfSecret(this.#table, row));
  }

  /** Throws if the key is not in the ring, or the value belongs to another row. */
  open(row: SealedRow, sealed: Buffer): string {
    return this.#keyRing.open(sealed, contextOfSecret(this.#table, row)).toString();
  }
}

export function contextOfSecret(table: SealedTable, { tenantId, id }: SealedRow): string {
  return `${tenantId}/agent.${table}/${columnOf[table]}/${id}`;
}
