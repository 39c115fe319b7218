import type { NewAlert } from '@gatehouse/events/alert-event';
import type { NewSignature } from '../providers/signature-origins.ts';
import type { StartedRun } from '../runs/run-record.ts';
import type { Attempt, AttemptStart, BudgetCharge, RunEnd, StoredAnswer } from '../runs/run.ts';

/** The instance of a log was declared dead: starts go to the log of its next name. */
export class InstanceDeadError extends Error {}

/** A log, for its runs. */
export interface RunKeeper {
  start(row: StartRow): Promise<void>;
  end(row: EndRow): Promise<void>;
}

/** Carries what the recorder knows of a run from its calls to its end. */
export interface RunHandle {
  logged?: { readonly log: RunKeeper } | undefined;
}

/** One provider call about to be made. The first one also starts the run. */
export interface StartRow {
  handle: RunHandle;
  run: StartedRun;
  /** Null when no budget is set. */
  charges: readonly BudgetCharge[] | null;
  /** The id under which this replica holds the reservation of the call; null without one. */
  holderId: string | null;
  attempt: AttemptStart;
  /** The calls before this one. */
  ended: readonly Attempt[];
}

export interface EndRow {
  /** Undefined for runs a reaper ends. */
  handle?: RunHandle;
  run: StartedRun;
  end: RunEnd;
  attempts: readonly Attempt[];
  answer?: StoredAnswer | undefined;
  /** Whether its answer was written to be kept, and is visible from now on. */
  keeps?: boolean | undefined;
  alerts?: readonly NewAlert[] | undefined;
  /** Signatures its client got as they are. */
  signatures?: readonly NewSignature[];
}

/** A run under way of a dead process, or lost by its process. */
export interface Orphan {
  run: StartedRun;
  /** By the database clock, like its age. */
  startedAt: Date;
  ageMs: number;
  /** The ended calls, in their order. */
  ended: Attempt[];
  /** The call without an end, the last one. Null for a run without a call of a model. */
  open: AttemptStart | null;
}

/** Commits the record of runs. */
export interface RunWriter {
  startAttempt(row: StartRow): Promise<void>;
  endRun(row: EndRow): Promise<void>;
}
