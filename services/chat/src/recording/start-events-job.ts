import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { eventOf, type RowOwner } from './log-group-store.ts';
import { forgetAmong } from './logged-users-system-store.ts';
import type { LoggedRun } from './logged-run.ts';
import type { RunPublisher } from './run-publisher-job.ts';
import { groupSize } from '../bounds.ts';

/** Publishes the starts of runs begun until then, by the monotonic clock. `open`: in the order in which they began. */
export async function announceStarts(
  owner: RowOwner,
  open: Iterable<LoggedRun>,
  until: number,
  { publisher, pool, log }: { publisher: Pick<RunPublisher, 'isOpen' | 'push'>; pool: Pool; log: Logger },
): Promise<void> {
  const due: LoggedRun[] = [];
  for (const run of open) {
    if (run.since > until || due.length === groupSize) break;
    if (!run.announced) due.push(run);
  }
  if (due.length === 0) return;
  for (const run of due) run.announced = true;
  try {
    await forgetAmong(pool, due);
  } catch (error) {
    // Their end events follow in any case.
    log.warn({ err: error }, 'failed to publish start events');
    return;
  }
  const events = due.map((run) => eventOf(run, null));
  const row = { log: owner, sequence: null, runs: due, events, since: monotonicMs() };
  if (publisher.isOpen) publisher.push(row);
  else owner.spill(row);
}
