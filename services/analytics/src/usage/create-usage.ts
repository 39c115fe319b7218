import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import { CostExportStore } from './cost-export-store.ts';
import { exportHandlers } from './export-handlers.ts';
import { Freshness } from './freshness-job.ts';
import { summaryHandlers } from './summary-handlers.ts';
import { UsageStore } from './usage-store.ts';

/** Summaries and exports of usage and costs, and how stale answers are. */
export function createUsage(
  { registry }: Shell,
  { system, summaries, exports }: { system: Pool; summaries: Pool; exports: Pool },
) {
  return {
    handlers: summaryHandlers(new UsageStore(summaries)),
    rawHandlers: exportHandlers(new CostExportStore(exports)),
    parts: [new Freshness(system, registry)],
  };
}
