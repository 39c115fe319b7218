import type { SealedColumn } from '@gatehouse/secrets/store/sealed-value-system-store';
import { columnOf, contextOfSecret, type SealedTable } from './secrets/sealed-column.ts';

/** Columns with sealed values living longer than a day. */
export const sealedColumns: readonly SealedColumn[] = (Object.keys(columnOf) as SealedTable[]).map(
  (table) => ({
    ...{ table, column: columnOf[table] },
    context: (row) => contextOfSecret(table, row),
  }),
);
