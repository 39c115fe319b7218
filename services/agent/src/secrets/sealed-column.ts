import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { sealedTexts, type SealedTexts } from '@gatehouse/secrets/sealed-texts';

/** The column of secrets, by its table. */
export const columnOf = { cookies: 'value', mcp_servers: 'secrets', mcp_logins: 'secrets' } as const;
export type SealedTable = keyof typeof columnOf;

interface SealedRow {
  tenantId: string;
  id: string;
}

export type SealedColumn = SealedTexts<SealedRow>;

/** Encrypts and decrypts the secrets of a table, each for its row only. */
export function sealedColumn(keyRing: KeyRing, table: SealedTable): SealedColumn {
  return sealedTexts(keyRing, (row) => contextOfSecret(table, row));
}

export function contextOfSecret(table: SealedTable, { tenantId, id }: SealedRow): string {
  return `${tenantId}/agent.${table}/${columnOf[table]}/${id}`;
}
