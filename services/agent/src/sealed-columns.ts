import { rewrapValues, type Sealed } from '@gatehouse/secrets/rewrap-job';
import type { SealedColumn } from '@gatehouse/secrets/store/sealed-value-system-store';
import type { Shell } from '@gatehouse/shell/shell';
import { columnOf, contextOfSecret, type SealedTable } from './secrets/sealed-column.ts';

/** Columns with sealed values that live longer than a day. */
export const sealedColumns: readonly SealedColumn[] = (Object.keys(columnOf) as SealedTable[]).map(
  (table) => ({
    ...{ table, column: columnOf[table] },
    context: (row) => contextOfSecret(table, row),
  }),
);

/** The job that wraps them again with another key once there is one. */
export function rewrapColumns(shell: Shell, sealed: Omit<Sealed, 'columns'>) {
  return rewrapValues(shell, { ...sealed, columns: sealedColumns });
}
