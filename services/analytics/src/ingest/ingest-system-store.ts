import type { DeadLetter } from '@gatehouse/events/dead-letters';
import type { RefusedEntry, RequestsRefused } from '@gatehouse/events/refused-event';
import type { RunEnded, RunStarted } from '@gatehouse/events/run-event';
import type { Watermark } from '@gatehouse/events/watermark';

/** The events of one commit. At most one event per run: its end, if there is one. */
export interface Intake {
  runs: readonly (RunStarted | RunEnded)[];
  watermarks: readonly (Watermark & { source: string })[];
}

/** Events of all tenants. A call stores its events in one transaction, and is safe to repeat. */
export interface IngestStore {
  /**
   * Stores starts and ends of runs, in any order: a start never replaces an end, and only the first end of a run is
   * stored.
   *
   * Returns the ids of late runs (`lateAfterDays`), which it does not store. Then it stores no watermarks either, because
   * a watermark must not precede its runs.
   */
  insertIntake(intake: Intake): Promise<string[]>;

  /**
   * Ends stored late runs, without their texts. Returns the ids of runs without a row: they may have been
   * counted and deleted.
   */
  endLateRuns(runs: Intake['runs']): Promise<string[]>;

  /**
   * Replaces estimated ends of runs by exact ones, and adds an end or a row to a run without one. A replaced end is
   * subtracted from the roll-ups. After a correction, no event of its run changes anything. Returns the ids of late runs
   * without a row, which get no row.
   */
  correctEnds(runs: readonly RunEnded[]): Promise<string[]>;

  /**
   * Adds counts of refused requests and keeps single ones, once for each id. Returns the entries of too long ago, which
   * may have been added.
   */
  insertRefusals(refused: RequestsRefused): Promise<RefusedEntry[]>;

  /** Stores an event, once, if it could not be stored as a run. */
  insertDeadLetter(letter: DeadLetter): Promise<void>;

  /** Whether an error of these functions blames the values, so it would come again. */
  isRefusal(error: unknown): boolean;
}
