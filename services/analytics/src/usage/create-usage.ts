import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import { Freshness } from './freshness-job.ts';
import { summaryHandlers } from './summary-handlers.ts';
import { UsageStore } from './usage-store.ts';

/** Summaries of usage and costs, and how stale answers are. */
export function createUsage({ registry }: Shell, { app, summaries }: { app: Pool; summaries: Pool }) {
  return {
    handlers: summaryHandlers(new UsageStore(summaries)),
    parts: [new Freshness(app, registry)],
  };
}
