import { isLockTimeout } from '@gatehouse/pg/errors';
import type { TimedQuery } from '@gatehouse/pg/patient-client';
import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import { addFold } from './rollup-pg-store.ts';
import type { RollupStore } from './rollup-system-store.ts';

/** `pool` acts as `analytics_system`. */
export function rollupPgStore(pool: Pool): RollupStore {
  return {
    closeFold: (options) => closeFold(pool, options),
    addClosedFold: () => addClosedFold(pool),
  };
}

/** Far more than the largest fold takes: 100,000 runs of each replica, a second for each. */
const longestMs = 600_000;
/** Less than a statement may take. */
const longestLockMs = 4_000;
const patient = (text: string, ...values: string[]): TimedQuery => ({
  text,
  values,
  giveUpAfterMs: longestMs,
});

const nextFold = 'select folded_to + 1 as fold from analytics.folds where folded_to + 1 < current_fold';

/**
 * Waits for statements storing runs, which hold the row until they commit, so the fold is complete afterwards. Later
 * statements wait behind the lock of the table.
 */
async function closeFold(
  pool: Pool,
  { leastMs = 0, lockMs = longestLockMs }: { leastMs?: number; lockMs?: number } = {},
): Promise<boolean> {
  // A time in the future is from before the clock was set back.
  const current = await pool.first<{ fold: string }>(
    `select current_fold as fold from analytics.folds
     where ($1::float8 = 0
            or closed_at not between clock_timestamp() - make_interval(secs => $1) and clock_timestamp())
       and exists (select from analytics.traces where fold = current_fold)`,
    [leastMs / 1_000],
  );
  if (current === null) return true;
  try {
    await withTransaction(pool, async (db) => {
      await db.query(`select set_config('lock_timeout', $1, true)`, [`${Math.min(lockMs, longestLockMs)}ms`]);
      await db.query('lock table analytics.folds in exclusive mode');
      // Another replica may have closed it.
      await db.query(
        `update analytics.folds set current_fold = current_fold + 1, closed_at = clock_timestamp()
         where current_fold = $1`,
        [current.fold],
      );
    });
    return true;
  } catch (error) {
    if (isLockTimeout(error)) return false;
    throw error;
  }
}

/** No correction is made meanwhile. Statements storing runs go on: their lock of the row allows a change of `folded_to`. */
async function addClosedFold(pool: Pool): Promise<number | 'busy' | null> {
  if (!(await pool.exists(nextFold))) return null;
  return withTransaction(pool, async (db) => {
    // The same memory for grouping as for summaries: with less it would sort all rows on disk.
    await db.query(
      `select set_config('work_mem', '64MB', true), set_config('statement_timeout', '${longestMs}', true)`,
    );
    const turn = await db.one<{ free: boolean }>(
      `select pg_try_advisory_xact_lock(hashtext('analytics.fold')) as free`,
    );
    if (!turn.free) return 'busy';
    await db.query(patient('lock table analytics.usage_totals in row exclusive mode'));
    const next = await db.first<{ fold: string }>(nextFold);
    if (next === null) return null;
    const { runs } = await db.one<{ runs: number }>(patient(addFold, next.fold));
    await db.query(patient('update analytics.folds set folded_to = $1', next.fold));
    return runs;
  });
}
