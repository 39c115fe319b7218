import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { ResealingOptions } from '@gatehouse/secrets/resealing';
import { SealedColumn, sealedColumns, type SealedTable } from './sealed-column.ts';
import { findStale, replaceSealed, type SealedRow } from './sealed-store.ts';

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
