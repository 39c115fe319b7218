import type { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { DailyRollupStore } from './daily-rollups/daily-rollup-system-store.ts';
import type { RefusedDaysStore } from './daily-rollups/refused-days-system-store.ts';
import type { ForgetStore } from './forgetting/forget-system-store.ts';
import type { IngestStore } from './ingest/ingest-system-store.ts';
import type { GroupRunsStore } from './preview/group-runs-store.ts';
import type { RetentionStore } from './retention/retention-system-store.ts';
import type { RollupStore } from './rollups/rollup-system-store.ts';
import type { PartitionStore } from './traces/partition-system-store.ts';
import type { TraceListStore } from './traces/trace-list-store.ts';
import type { TraceStore } from './traces/trace-store.ts';
import type { CostExportStore } from './usage/cost-export-store.ts';
import type { FreshnessStore } from './usage/freshness-system-store.ts';
import type { OwnerUsageStore, UsageStore } from './usage/usage-store.ts';

/** The data of the service: a store for each room, which its handlers and jobs use without knowing the database. */
export interface Stores {
  groupRuns: GroupRunsStore;
  traces: TraceStore;
  traceList: TraceListStore;
  /** Refused requests, listed and shown as traces. */
  refused: TraceListStore & Pick<TraceStore, 'find'>;
  partitions: PartitionStore;
  retention: RetentionStore;
  rollups: RollupStore;
  dailyRollups: DailyRollupStore;
  refusedDays: RefusedDaysStore;
  deletions: ForgetStore;
  ingest: IngestStore;
  usage: UsageStore;
  ownerUsage: OwnerUsageStore;
  costExports: CostExportStore;
  freshness: FreshnessStore;
  /** Work the database needs besides the jobs of rooms. */
  upkeep: readonly PeriodicWork[];
}
