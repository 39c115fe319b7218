import type { ExportOptions } from './cost-export-store.ts';
import type { Summary, SummaryRequest } from './summary.ts';

/** Usage sums over the runs of one tenant per call. */
export interface UsageStore {
  /**
   * Exact for any period and zone. Sums, groups and `asOf` are as at one moment, so they are consistent. Throws
   * `invalid_value` for a time zone the database does not know.
   */
  summarize(tenantId: string, request: SummaryRequest): Promise<Summary>;
}

/** Usage and costs over the runs of all tenants or, with a tenant's id, of this one. */
export interface OwnerUsageStore {
  /** As `UsageStore.summarize`. */
  summarize(tenantId: string | null, request: SummaryRequest): Promise<Summary>;

  /** As `CostExportStore.read`. */
  readExport<Result>(
    tenantId: string | null,
    request: SummaryRequest,
    options: ExportOptions<Result>,
  ): Promise<Result>;
}
