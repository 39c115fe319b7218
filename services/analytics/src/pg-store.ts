import type { Logger } from '@gatehouse/kit/log';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import type { Pool } from '@gatehouse/pg/pool';
import { dailyRollupPgStore } from './daily-rollups/daily-rollup-system-pg-store.ts';
import { refusedDaysPgStore } from './daily-rollups/refused-days-system-pg-store.ts';
import { forgetPgStore, oldDeletions } from './forgetting/forget-system-pg-store.ts';
import { ingestPgStore } from './ingest/ingest-system-pg-store.ts';
import { oldRefusedBatches } from './ingest/refusal-system-pg-store.ts';
import { groupRunsPgStore } from './preview/group-runs-pg-store.ts';
import { retentionPgStore } from './retention/retention-system-pg-store.ts';
import { rollupPgStore } from './rollups/rollup-system-pg-store.ts';
import type { Stores } from './stores.ts';
import { partitionPgStore } from './traces/partition-system-pg-store.ts';
import { RefusedListPgStore } from './traces/refused-list-pg-store.ts';
import { TraceListPgStore } from './traces/trace-list-pg-store.ts';
import { TracePgStore } from './traces/trace-pg-store.ts';
import { CostExportPgStore } from './usage/cost-export-pg-store.ts';
import { freshnessPgStore } from './usage/freshness-system-pg-store.ts';
import { OwnerUsagePgStore } from './usage/owner-usage-system-pg-store.ts';
import { UsagePgStore } from './usage/usage-pg-store.ts';

/** The pools by the work waiting for them. */
export type Pools = Record<'system' | 'app' | 'summaries' | 'exports' | 'owners', Pool>;

/** The stores over PostgreSQL. */
export function pgStores({ system, app, summaries, exports, owners }: Pools, log: Logger): Stores {
  return {
    groupRuns: groupRunsPgStore(summaries),
    traces: new TracePgStore(app),
    traceList: new TraceListPgStore(app),
    refused: new RefusedListPgStore(app),
    partitions: partitionPgStore(system),
    retention: retentionPgStore(system),
    rollups: rollupPgStore(system),
    dailyRollups: dailyRollupPgStore(system),
    refusedDays: refusedDaysPgStore(system),
    deletions: forgetPgStore(system),
    ingest: ingestPgStore(system),
    usage: new UsagePgStore(summaries),
    ownerUsage: new OwnerUsagePgStore(owners),
    costExports: new CostExportPgStore(exports),
    freshness: freshnessPgStore(system),
    upkeep: cleanUp(log, system, [oldDeletions, oldRefusedBatches]),
  };
}
