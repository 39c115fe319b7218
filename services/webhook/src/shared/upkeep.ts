import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';

/** The most rows of one round. */
export const upkeepBatch = 500;
/** A job that was added while another one of its target ended is missing at times. */
export const overdueMs = 15_000;
const cleaningMs = 600_000;

/** Deletes what is no longer needed, every ten minutes, in batches until there is no more. */
export function cleaning(
  log: Logger,
  task: string,
  remove: (limit: number) => Promise<number>,
): PeriodicWork {
  const round = async (): Promise<boolean> => (await remove(upkeepBatch)) === upkeepBatch;
  return new PeriodicWork({ task, log, everyMs: cleaningMs, round });
}
