import type { RunEnded, RunStarted } from '@gatehouse/events/run-event';

/**
 * How long traces are kept.
 *
 * The row of a trace makes repeated events harmless: without it, a repeated event would count the run twice. So no row
 * is created for a run with an id older than `lateAfterDays`. An event of a run this old ends it if its row exists;
 * without a row it becomes a dead letter. Rows are deleted after this age at the earliest. For a tenant with a shorter
 * retention the texts are removed at the end of the retention, and the rows later.
 */
export const lateAfterDays = 30;

/**
 * The time between the last event able to create a row and the deletion of the row. Both follow the database's clock; a
 * statement storing events ends within seconds.
 */
const marginDays = 1 / 24;

/** The shortest retention a tenant may have. */
export const leastRetentionDays = 1;

/** Retention of dead letters; topics and outboxes keep events no longer. */
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

/** A run without its texts, as it is kept after the retention. Spans stay: they hold codes and numbers only. */
export function withoutTexts<Run extends RunStarted | RunEnded>(run: Run): Run {
  const texts = { input_preview: null, output_preview: null, error_message: null };
  const present = Object.entries(texts).filter(([name]) => name in run);
  return { ...run, ...Object.fromEntries(present) };
}
