import { readClock } from '@gatehouse/events/store/relay-store';
import type { Pool } from '@gatehouse/pg/pool';
import type { FreshnessStore } from './freshness-system-store.ts';
import { asOf } from './summary-pg-store.ts';

/** `pool` acts as `analytics_system`. */
export function freshnessPgStore(pool: Pool): FreshnessStore {
  return {
    readHorizon: async () => {
      const { oldestRunning: oldest, nextTransaction: next } = await readClock(pool);
      return { oldest, next };
    },
    usageLagSeconds: () => usageLagSeconds(pool),
    countWaitingFolds: () => countWaitingFolds(pool),
  };
}

/** The age of `as_of` in seconds; null until every source has its watermarks. */
export async function usageLagSeconds(pool: Pool): Promise<number | null> {
  const row = await pool.first<{ seconds: number | null }>(
    `select extract(epoch from clock_timestamp() - (${asOf}))::float8 as seconds`,
  );
  return row?.seconds ?? null;
}

async function countWaitingFolds(pool: Pool): Promise<number> {
  const { waiting } = await pool.one<{ waiting: number }>(
    'select (current_fold - folded_to - 1)::integer as waiting from analytics.folds',
  );
  return waiting;
}
