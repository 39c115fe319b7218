import type { RunEnded, RunStarted } from '@gatehouse/events/run-event';

/**
 * How long traces are kept.
 *
 * The row of a trace is what makes an event that comes again harmless, and without it a run would be counted twice.
 * So there is one day from which on no row is made any more: a run whose id is older than `lateAfterDays` is only ever
 * ended, if its row is there; without one its event is too late and becomes a dead letter. Rows are deleted after that
 * day at the earliest. A tenant that keeps its traces for less has their texts taken out when it wants, and the rest
 * deleted then.
 */
export const lateAfterDays = 30;

/**
 * Between the last event that may make a row and the deletion of that row. Both go by the database's clock; a statement
 * that takes in events ends within seconds.
 */
const marginDays = 1 / 24;

/** Retention for traces of a deleted tenant, whose own setting no longer exists. */
export const unknownTenantDays = 90;

/** Their senders' topics and outboxes remember no longer either. */
export const deadLetterDays = 30;

/** Ages in days at which a trace of a tenant loses its texts and its row. */
export interface TraceAges {
  blankAfterDays: number;
  deleteAfterDays: number;
}

export function traceAges(retentionDays: number): TraceAges {
  return {
    blankAfterDays: retentionDays,
    deleteAfterDays: Math.max(retentionDays, lateAfterDays + marginDays),
  };
}

/** A run as it is kept past its time: without what people and models wrote. Spans hold codes and numbers only. */
export function withoutTexts<Run extends RunStarted | RunEnded>(run: Run): Run {
  const texts = { input_preview: null, output_preview: null, error_message: null };
  const present = Object.entries(texts).filter(([name]) => name in run);
  return { ...run, ...Object.fromEntries(present) };
}
