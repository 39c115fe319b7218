import { createLogger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { RunLog } from '../src/recording/run-log-job.ts';
import { takeOverLog } from '../src/recording/run-log-system-store.ts';
import type { EndRow, StartRow } from '../src/recording/run-rows.ts';

/** A publisher that takes nothing, so that ends go to the outbox. */
export const noPublisher = { isOpen: false, push: () => undefined, stop: () => Promise.resolve() };

/** The log of an instance whose ends go to the outbox. */
export function logOf(
  pool: Pool,
  instanceId: string,
  options: { onTaken?: (ends: number) => void } = {},
): RunLog {
  return new RunLog({
    ...{ pool, instanceId, publisher: noPublisher, log: createLogger('chat', 'silent') },
    onCommitted: () => undefined,
    onTaken: (ends) => {
      options.onTaken?.(ends.length);
      for (const { resolve } of ends) resolve();
    },
  });
}

/** Starts runs in the log of an instance. Returns the log, to end them. */
export async function startRuns(pool: Pool, instanceId: string, rows: readonly StartRow[]): Promise<RunLog> {
  const log = logOf(pool, instanceId);
  await Promise.all(rows.map((row) => log.start(row)));
  return log;
}

/** Ends a run as the recorder does. */
export async function endRun(row: EndRow): Promise<void> {
  await row.handle?.logged?.log.end(row);
}

/** Declares an instance dead, and moves what it has left to where a reaper finds it. */
export async function leaveOrphans(pool: Pool, instanceId: string): Promise<void> {
  await pool.query('update chat.instances set dead_at = now() where id = $1', [instanceId]);
  await takeOverLog(pool, instanceId);
}
