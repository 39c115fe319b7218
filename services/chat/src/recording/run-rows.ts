import type { NewAlert } from '@gatehouse/events/alert-event';
import type { MadeSeal } from '../providers/run-seals.ts';
import type { StartedRun } from '../runs/run-record.ts';
import type { Attempt, AttemptStart, BudgetCharge, RunEnd, StoredAnswer } from '../runs/run.ts';

/** One provider call about to be made. The first one also starts the run. */
export interface StartRow {
  run: StartedRun;
  /** Null when no budget is set. */
  charges: readonly BudgetCharge[] | null;
  attempt: AttemptStart;
  /** The calls before this one. */
  ended: readonly Attempt[];
}

export interface EndRow {
  run: StartedRun;
  end: RunEnd;
  attempts: readonly Attempt[];
  answer?: StoredAnswer | undefined;
  /** Whether its answer was written to be kept, and is visible from now on. */
  keeps?: boolean | undefined;
  alerts?: readonly NewAlert[] | undefined;
  /** Seals that its client got as they are. */
  seals?: readonly MadeSeal[];
}

/** A run under way whose process died or has lost it. */
export interface Orphan {
  run: StartedRun;
  /** By the database clock, like its age. */
  startedAt: Date;
  ageMs: number;
  /** The calls that have ended, in their order. */
  ended: Attempt[];
  /** The call without an end, the last one. */
  open: AttemptStart;
}
