import type { Pool } from '@gatehouse/pg/pool';
import { groupRunsPgStore } from './preview/group-runs-pg-store.ts';
import { retentionPgStore } from './retention/retention-system-pg-store.ts';
import { rollupPgStore } from './rollups/rollup-system-pg-store.ts';
import type { Stores } from './stores.ts';

/** The pools by the work that waits for them. */
export type Pools = Record<'system' | 'app' | 'summaries' | 'exports' | 'owners', Pool>;

/** The stores over PostgreSQL. */
export function pgStores({ system, summaries }: Pools): Stores {
  return {
    groupRuns: groupRunsPgStore(summaries),
    retention: retentionPgStore(system),
    rollups: rollupPgStore(system),
  };
}
