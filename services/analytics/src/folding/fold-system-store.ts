import type { TimedQuery } from '@gatehouse/pg/patient-client';
import { only } from '@gatehouse/pg/rows';
import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import { addFold } from './fold-statements.ts';

/** Far more than a fold of 100,000 runs takes, which is a second. */
const longestMs = 60_000;
const patient = (text: string, ...values: string[]): TimedQuery => ({
  text,
  values,
  giveUpAfterMs: longestMs,
});

/**
 * Gives runs a new fold from now on if the current one has any, and is that old. Waits for statements that store runs: they hold the row
 * until they have committed, so that the fold is complete afterwards. A lock of the table waits its turn; that of a row
 * would let all later readers pass.
 */
export async function closeFold(pool: Pool, leastMs = 0): Promise<void> {
  const { rows } = await pool.query<{ fold: string }>(
    `select current_fold as fold from analytics.folds
     where closed_at <= now() - make_interval(secs => $1)
       and exists (select from analytics.traces where fold = current_fold)`,
    [leastMs / 1_000],
  );
  const [current] = rows;
  if (current === undefined) return;
  await withTransaction(pool, async (db) => {
    await db.query('lock table analytics.folds in exclusive mode');
    // Another replica may have closed it.
    await db.query(
      `update analytics.folds set current_fold = current_fold + 1, closed_at = clock_timestamp()
       where current_fold = $1`,
      [current.fold],
    );
  });
}

/**
 * Adds the oldest closed fold to the roll-ups, and returns how many runs that were; null when there is none. One replica
 * at a time does it, and no correction meanwhile.
 */
export async function addClosedFold(pool: Pool): Promise<number | null> {
  return withTransaction(pool, async (db) => {
    // The same memory for grouping as for summaries: with less it would sort all rows on disk.
    await db.query(
      `select set_config('work_mem', '64MB', true), set_config('statement_timeout', '${longestMs}', true)`,
    );
    await db.query(patient(`select pg_advisory_xact_lock(hashtext('analytics.fold'))`));
    await db.query(patient('lock table analytics.usage_totals in row exclusive mode'));
    const { rows } = await db.query<{ fold: string }>(
      'select folded_to + 1 as fold from analytics.folds where folded_to + 1 < current_fold',
    );
    const [next] = rows;
    if (next === undefined) return null;
    const { runs } = only(await db.query<{ runs: number }>(patient(addFold, next.fold)));
    await db.query(patient('lock table analytics.folds in exclusive mode'));
    await db.query('update analytics.folds set folded_to = $1', [next.fold]);
    return runs;
  });
}

/**
 * Adds all runs that are stored to the roll-ups, those of the current fold if that is `leastMs` old. Returns how many that
 * were.
 */
export async function foldRuns(pool: Pool, leastMs = 0): Promise<number> {
  await closeFold(pool, leastMs);
  let sum = 0;
  for (let runs = await addClosedFold(pool); runs !== null; runs = await addClosedFold(pool)) sum += runs;
  return sum;
}
