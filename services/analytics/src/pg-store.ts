import type { Pool } from '@gatehouse/pg/pool';
import { groupRunsPgStore } from './preview/group-runs-pg-store.ts';
import type { Stores } from './stores.ts';

/** The pools by the work that waits for them. */
export type Pools = Record<'summaries', Pool>;

/** The stores over PostgreSQL. */
export function pgStores({ summaries }: Pools): Stores {
  return {
    groupRuns: groupRunsPgStore(summaries),
  };
}
