import type { CostExport } from './cost-export.ts';
import type { SummaryRequest } from './summary.ts';

/** How an export is read: `bounds`, and the end of its client's patience. */
export interface ExportOptions<Result> {
  bounds: 'day' | null;
  signal: AbortSignal;
  use: (exported: CostExport) => Promise<Result>;
}

/** Costs of one tenant, group by group, as at one moment. */
export interface CostExportStore {
  /**
   * Passes the groups to `use`. With `bounds`, each has those of its day, by which it must be grouped. Throws
   * `invalid_value` for too many groups and for a time zone the database does not know.
   */
  read<Result>(tenantId: string, request: SummaryRequest, options: ExportOptions<Result>): Promise<Result>;
}
