import type { GroupRunsStore } from './preview/group-runs-store.ts';
import type { RetentionStore } from './retention/retention-system-store.ts';
import type { RollupStore } from './rollups/rollup-system-store.ts';

/** The data of the service: a store for each room, which its handlers and jobs use without knowing the database. */
export interface Stores {
  groupRuns: GroupRunsStore;
  retention: RetentionStore;
  rollups: RollupStore;
}
