import { maxExportedRows, type Dimension } from '@gatehouse/contract/usage';
import { AppError } from '@gatehouse/kit/errors';
import { withHeldRows, type HeldRead, type PoolClient } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { CostExportStore, ExportOptions } from './cost-export-store.ts';
import { exportedMeasures, type CostRow } from './cost-export.ts';
import { exportStatement } from './export-pg-store.ts';
import { summaryValues } from './row-pg-store.ts';
import { readParts } from './rolled-days-pg-store.ts';
import { asOf } from './summary-pg-store.ts';
import type { SummaryRequest } from './summary.ts';
import { prepareSums } from './usage-pg-store.ts';

/** Rows read and written at once: about 10 ms of the event loop. */
const pageRows = 1_000;

type Cells = readonly (string | null)[];

/** `pool` acts as `analytics_app`; an export occupies one of its connections. */
export class CostExportPgStore extends Store implements CostExportStore {
  async read<Result>(
    tenantId: string,
    request: SummaryRequest,
    options: ExportOptions<Result>,
  ): Promise<Result> {
    return withHeldRows(this.pool, tenantId, readingOf(tenantId, request, options));
  }
}

/** The reading of an export of one tenant, or of all with `allTenants`. */
export function readingOf<Result>(
  tenantId: string | null,
  request: SummaryRequest,
  { bounds, signal, use }: ExportOptions<Result>,
): HeldRead<Date, Result> {
  return {
    signal,
    open: async (db) => {
      await prepareSums(db, request.timezone);
      // All rows are read, where the planner expects a tenth.
      await db.query(`select set_config('cursor_tuple_fraction', '1', true)`);
      const parts = await readParts(db, tenantId, request);
      const known = await db.first<{ as_of: Date | null }>(`select (${asOf}) as as_of`);
      await db.query(
        `declare exported_costs no scroll cursor with hold for ${exportStatement(request, { bounds, parts })}`,
        summaryValues(tenantId, request, parts),
      );
      return known?.as_of ?? new Date(0);
    },
    read: async (db, countedUntil) => {
      const first = await nextPage(db);
      const count = Number(first[0]?.at(-1) ?? 0);
      if (count > maxExportedRows) throw tooMany();
      const rowOf = rowReader(request.groupBy, bounds);
      async function* pages(): AsyncGenerator<CostRow[], void> {
        for (let page = first; page.length > 0; page = await nextPage(db)) yield page.map(rowOf);
      }
      return use({ count, asOf: countedUntil, pages: pages() });
    },
  };
}

async function nextPage(db: PoolClient): Promise<Cells[]> {
  const text = `fetch ${pageRows} from exported_costs`;
  return db.all<(string | null)[]>({ text, rowMode: 'array' });
}

function rowReader(groupBy: readonly Dimension[], bounds: 'day' | null): (cells: Cells) => CostRow {
  const measuresAt = groupBy.length + (bounds === null ? 0 : 4);
  return (cells) => ({
    labels: Object.fromEntries(groupBy.map((dimension, index) => [dimension, cells[index] ?? null])),
    bounds: bounds === null ? [] : cells.slice(groupBy.length, measuresAt),
    sums: Object.fromEntries(
      exportedMeasures.map((measure, index) => [measure, cells[measuresAt + index] ?? '0']),
    ) as CostRow['sums'],
  });
}

function tooMany(): AppError {
  const most = maxExportedRows.toLocaleString('en-US');
  return new AppError(
    'invalid_value',
    `The export has more than ${most} rows. Choose a shorter period, fewer groups or a filter.`,
    { param: 'from' },
  );
}
