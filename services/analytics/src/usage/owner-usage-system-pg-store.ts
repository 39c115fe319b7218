import { withHeldRows, withSnapshot, type Pool } from '@gatehouse/pg/pool';
import { readingOf } from './cost-export-pg-store.ts';
import type { ExportOptions } from './cost-export-store.ts';
import type { Summary, SummaryRequest } from './summary.ts';
import { readSummary } from './usage-pg-store.ts';
import type { OwnerUsageStore } from './usage-store.ts';

export class OwnerUsagePgStore implements OwnerUsageStore {
  readonly #pool: Pool;

  /** `pool` acts as `analytics_system`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  summarize(tenantId: string | null, request: SummaryRequest): Promise<Summary> {
    return withSnapshot(this.#pool, (db) => readSummary(db, tenantId, requestOf(tenantId, request)));
  }

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
