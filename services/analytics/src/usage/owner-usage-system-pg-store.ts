import { withHeldRows, withSnapshot, type Pool } from '@gatehouse/pg/pool';
import { readingOf, type ExportOptions } from './cost-export-pg-store.ts';
import type { Summary, SummaryRequest } from './summary.ts';
import { readSummary } from './usage-pg-store.ts';

/** Usage and costs over the runs of all tenants or, with a tenant's id, of this one. */
export class OwnerUsageStore {
  readonly #pool: Pool;

  /** `pool` acts as `analytics_system`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** As `UsageStore.summarize`. */
  summarize(tenantId: string | null, request: SummaryRequest): Promise<Summary> {
    return withSnapshot(this.#pool, (db) => readSummary(db, tenantId, requestOf(tenantId, request)));
  }

  /** As `CostExportStore.read`. */
  readExport<Result>(
    tenantId: string | null,
    request: SummaryRequest,
    options: ExportOptions<Result>,
  ): Promise<Result> {
    const reading = readingOf(tenantId, requestOf(tenantId, request), options);
    return withHeldRows(this.#pool, tenantId, reading);
  }
}

function requestOf(tenantId: string | null, request: SummaryRequest): SummaryRequest {
  return tenantId === null ? { ...request, allTenants: true } : request;
}
